/** What `raydbg list --watch --format json` says of a paused task; null is unknown. Pure. */
export interface Pause {
  task_id: string | null;
  task_name: string | null;
  actor_id: string | null;
  actor_class: string | null;
  actor_name: string | null;
  job_id: string | null;
  node_id: string | null;
  node_ip: string | null;
  pid: number | null;
  worker_id: string | null;
  debugger: string;
  endpoint: string;
  state: 'waiting' | 'attached' | 'held' | 'idle';
  paused_threads: number | null;
  ambiguous: boolean;
  candidates: string[];
  location: {file: string; line: number} | null;
  /** Seconds since 1970: of the breakpoint, or only of the task's start. */
  since: number | null;
  since_source: 'breakpoint' | 'task_start' | null;
  reason: string | null;
  /** Of a relay; null if none holds it. */
  clients: number | null;
  driver: string | null;
  held_since: number | null;
}

export interface Change {
  event: 'added' | 'changed' | 'removed';
  pause: Pause;
}

/** One line of the feed: what became of a pause, or of the cluster itself. */
export type FeedLine = Change | {event: 'live'} | {event: 'away'; error: {what: string; why: string | null; hint: string | null}};

/**
 * One pause among those of its cluster. A debugpy that is attached to again may listen at another port, so its worker
 * identifies it. Of pdb several threads of one worker may be paused, and of pydevd the worker may be known only later.
 */
export function pauseKey({debugger: kind, worker_id, endpoint}: Pause): string {
  return kind === 'debugpy' && worker_id !== null ? worker_id : endpoint;
}

/** Whether a relay means this pause by the id: in a relay's ids an IPv6 address has no brackets. */
export function hasRelayId(pause: Pause, id: string | null): boolean {
  const key = pauseKey(pause);
  return id === key || id === key.replace(/^\[(.*)\](?=:\d+$)/, '$1');
}

/** What `raydbg attach` takes for this pause, and no other. */
export function pauseTask(pause: Pause): string {
  if (pause.task_id && !pause.ambiguous) return pause.task_id;
  return `${pause.pid ?? 0}@${pause.node_ip ?? ''}`;
}

export function pauseTitle(pause: Pause): string {
  const name = pause.task_name ?? pause.actor_class ?? `pid ${pause.pid ?? '?'}`;
  return pause.actor_name ? `${name} (${pause.actor_name})` : name;
}

/**
 * What the call stack calls it, where VS Code shows a session's name instead of its only thread's. There is room for some
 * 13 characters: of a twin, what tells it from the others comes first.
 */
export function sessionName(pause: Pause, twin = false): string {
  const pid = `pid ${pause.pid ?? '?'}`;
  if (twin) return [pid, pauseTitle(pause), pause.node_ip].filter(Boolean).join(' ');
  return `${pauseTitle(pause)} · ${pid}${pause.node_ip ? `@${pause.node_ip}` : ''}`;
}

/** `now` in milliseconds. "12s", "4m", "3h", "2d"; "" if it is not known since when. */
export function age(since: number | null, now: number): string {
  if (since === null) return '';
  const seconds = Math.max(0, Math.floor(now / 1000 - since));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

/** A thread stands: what a relay holds may run, and nobody knows it of what somebody else is attached to. */
function stands(pause: Pause): boolean {
  return pause.state === 'waiting' || (pause.state === 'held' && pause.reason !== null);
}

/** Four fifths of `limit` seconds have passed since then; 0 is no limit. */
export function isNear(since: number | undefined, limit: number, now: number): boolean {
  return limit > 0 && since !== undefined && now / 1000 - since > 0.8 * limit;
}

/** "train.py:41", or "". */
export function locationText(pause: Pause): string {
  if (!pause.location) return '';
  return `${pause.location.file.replace(/^.*[\\/]/, '')}:${pause.location.line}`;
}

/** "attached" is also what a relay holds for somebody. */
export function stateText(pause: Pause): string {
  return pause.state === 'held' && pause.clients ? 'attached' : pause.state;
}

/** A task id's beginning, as `raydbg list` shows it, or the process; what tells two pauses of one name apart. */
export function shortId(pause: Pause): string {
  return pause.task_id && !pause.ambiguous ? pause.task_id.slice(0, 6) : `pid ${pause.pid ?? '?'}`;
}

/** The job's number as Ray's own tools count it: "01000000" is "01". */
export function shortJob(id: string): string {
  return id.replace(/^(..+?)(00)+$/, '$1');
}

/** The telling part first: a row has some 30 characters. `twin`: another pause is shown under the same title. */
export function pauseDescription(pause: Pause, now: number, twin = false): string {
  const where = locationText(pause) || (pause.reason ?? '');
  return [twin ? shortId(pause) : '', stateText(pause), age(pause.since, now), where, pause.node_ip].filter(Boolean).join(' · ');
}

/** Those titles that several of the pauses have. */
export function twinTitles(pauses: Iterable<Pause>): Set<string> {
  const seen = new Set<string>();
  const twins = new Set<string>();
  for (const title of [...pauses].map(pauseTitle)) (seen.has(title) ? twins : seen).add(title);
  return twins;
}

/** A debugger is attached to it, as far as is known: this window's, or another's. */
export function isAttached(pause: Pause): boolean {
  return pause.state === 'attached' || stateText(pause) === 'attached';
}

/** The newest first; what is not known since when comes last. */
export function newestFirst(a: Pause, b: Pause): number {
  return (b.since ?? -Infinity) - (a.since ?? -Infinity) || pauseKey(a).localeCompare(pauseKey(b));
}

/** The jobs of these pauses, the one with the newest pause first. */
export function jobsOf(pauses: Iterable<Pause>): {job: string; pauses: Pause[]}[] {
  const jobs = new Map<string, Pause[]>();
  for (const pause of [...pauses].sort(newestFirst)) {
    const job = pause.job_id ?? '';
    const own = jobs.get(job);
    if (own) own.push(pause);
    else jobs.set(job, [pause]);
  }
  return [...jobs].map(([job, own]) => ({job, pauses: own}));
}

export const groupings = {
  function: 'Function or actor class', job: 'Job', node: 'Node', state: 'State', none: 'Not at all',
} as const;
export type GroupBy = keyof typeof groupings;

export interface PauseGroup {
  key: string;
  label: string;
  pauses: Pause[];
}

const labels: Record<GroupBy, (pause: Pause) => string> = {
  function: (pause) => pause.actor_class ?? pause.task_name ?? 'unknown',
  job: (pause) => `job ${shortJob(pause.job_id ?? '?')}`,
  node: (pause) => pause.node_ip ?? 'unknown node',
  state: stateText,
  none: () => '',
};

/** All words of the filter are somewhere in what the row shows or in its ids. */
export function matches(pause: Pause, filter: string): boolean {
  const text = [pauseTitle(pause), pause.task_id, pause.actor_id, pause.actor_class, pause.job_id, pause.node_ip,
    pause.node_id, pause.pid, pause.state, pause.location?.file].join(' ').toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** Groups in the order of their labels (jobs: the one with the newest pause first), each with its pauses from the newest to the oldest. */
export function groupPauses(pauses: Iterable<Pause>, by: GroupBy): PauseGroup[] {
  const groups = new Map<string, PauseGroup>();
  for (const pause of pauses) {
    const label = labels[by](pause);
    const group = groups.get(label) ?? {key: label, label, pauses: []};
    group.pauses.push(pause);
    groups.set(label, group);
  }
  for (const group of groups.values())
    group.pauses.sort(newestFirst);
  const latest = ({pauses: [newest]}: PauseGroup): number => newest?.since ?? -Infinity;
  return [...groups.values()].sort((a, b) => (by === 'job' && latest(b) - latest(a)) || a.label.localeCompare(b.label));
}

/** What is paused in one cluster, from the feed's lines. */
export class PauseSet {
  readonly pauses = new Map<string, Pause>();
  /** Also of pauses that are not known at the moment, as the feed begins anew. */
  private readonly stood = new Map<string, {task: string | null; since: number}>();
  /** The tasks of the pauses that were shown by name when the feed began anew, unless it has said since that they are gone. */
  private readonly before = new Map<string, string | null>();

  /** `now` in milliseconds. */
  apply({event, pause}: Change, now: number): void {
    const key = pauseKey(pause);
    if (event === 'removed') this.before.delete(key);
    if (event === 'removed') this.pauses.delete(key);
    else this.pauses.set(key, pause);
    if (event === 'removed' || !stands(pause)) this.stood.delete(key);
    else if (this.stood.get(key)?.task !== pause.task_id) this.stood.set(key, {task: pause.task_id, since: now / 1000});
  }

  /** The feed begins anew: it will list again what is still paused. */
  clear(): void {
    for (const [key, {task_id, task_name}] of this.pauses) if (task_name !== null) this.before.set(key, task_id);
    this.pauses.clear();
  }

  /** Whether it was paused before the feed began anew: the user knows of it. An id may come after the pause. */
  remembers(pause: Pause): boolean {
    const task = this.before.get(pauseKey(pause));
    return task !== undefined && (task === null || pause.task_id === null || task === pause.task_id);
  }

  /** Whether it is not listed at the moment, and may be again. */
  awaits(pause: Pause): boolean {
    return !this.pauses.has(pauseKey(pause)) && this.remembers(pause);
  }

  /** Seconds since 1970: it has been standing at least since then; undefined: it does not, as far as is known. */
  standsSince(pause: Pause): number | undefined {
    const seen = this.stood.get(pauseKey(pause))?.since;
    return seen !== undefined && pause.since_source === 'breakpoint' && pause.since !== null ? pause.since : seen;
  }
}

interface Parts {
  pause?: {endpoint?: string};
  error?: {what?: string};
}
const ofPause = ({pause}: Parts): boolean => Boolean(pause?.endpoint);

/** Whether a line has what its event needs. */
const complete: Record<FeedLine['event'], (line: Parts) => boolean> = {
  added: ofPause, changed: ofPause, removed: ofPause, live: () => true, away: ({error}) => Boolean(error?.what),
};

/** A line of the feed; undefined if it is none. */
export function parseLine(line: string): FeedLine | undefined {
  try {
    const value = JSON.parse(line) as FeedLine & Parts;
    return Object.hasOwn(complete, value.event) && complete[value.event](value) ? value : undefined;
  } catch {
    return undefined; // a line that is no JSON is none of the feed's
  }
}
