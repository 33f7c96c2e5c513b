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
  /** Seconds since 1970. */
  since: number | null;
  reason: string | null;
  /** Of a relay; null if none holds it. */
  clients: number | null;
  driver: string | null;
  held_since: number | null;
}

/** One line of the feed. */
export interface Change {
  event: 'added' | 'changed' | 'removed';
  pause: Pause;
}

/** One pause among those of its cluster: a process has one debugger. */
export function pauseKey(pause: Pause): string {
  return pause.worker_id ?? pause.endpoint;
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

/** `now` in milliseconds. "12s", "4m", "3h", "2d"; "" if it is not known since when. */
export function age(since: number | null, now: number): string {
  if (since === null) return '';
  const seconds = Math.max(0, Math.floor(now / 1000 - since));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

/** "train.py:41", or "". */
export function place(pause: Pause): string {
  if (!pause.location) return '';
  return `${pause.location.file.replace(/^.*[\\/]/, '')}:${pause.location.line}`;
}

/** "attached" is also what a relay holds for somebody. */
export function stateText(pause: Pause): string {
  return pause.state === 'held' && pause.clients ? 'attached' : pause.state;
}

/** The telling part first: a row has some 30 characters. */
export function pauseDescription(pause: Pause, now: number): string {
  const where = place(pause) || (pause.reason ?? '');
  return [stateText(pause), age(pause.since, now), where, pause.node_ip].filter(Boolean).join(' · ');
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
  job: (pause) => `job ${pause.job_id ?? '?'}`,
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

/** Groups in the order of their labels, each with its pauses from the oldest to the newest. */
export function groupPauses(pauses: Iterable<Pause>, by: GroupBy): PauseGroup[] {
  const groups = new Map<string, PauseGroup>();
  for (const pause of pauses) {
    const label = labels[by](pause);
    const group = groups.get(label) ?? {key: label, label, pauses: []};
    group.pauses.push(pause);
    groups.set(label, group);
  }
  for (const group of groups.values())
    group.pauses.sort((a, b) => (a.since ?? Infinity) - (b.since ?? Infinity) || pauseKey(a).localeCompare(pauseKey(b)));
  return [...groups.values()].sort((a, b) => a.label.localeCompare(b.label));
}

/** What is paused in one cluster, from the feed's lines. */
export class PauseSet {
  readonly pauses = new Map<string, Pause>();

  apply(change: Change): void {
    const key = pauseKey(change.pause);
    if (change.event === 'removed') this.pauses.delete(key);
    else this.pauses.set(key, change.pause);
  }
}

/** A line of the feed; undefined if it is none. */
export function parseChange(line: string): Change | undefined {
  try {
    const value = JSON.parse(line) as Partial<Change>;
    if ((value.event === 'added' || value.event === 'changed' || value.event === 'removed') && value.pause?.endpoint)
      return value as Change;
  } catch {
    // A line that is no JSON is none of the feed's.
  }
  return undefined;
}
