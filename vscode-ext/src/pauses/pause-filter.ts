/** Which paused tasks a session over many is about: what `attach` takes as `tasks`, `job`, `actor` and `node`. Pure. */
import {GroupBy, Pause, PauseGroup, isAttached, pauseTask, shortJob} from './pause';

/** A task has to be any of `tasks`, and of all the others; nothing said: any task. */
export interface PauseFilter {
  tasks?: string[];
  job?: string;
  actor?: string;
  node?: string;
}

const keys = ['job', 'actor', 'node'] as const;
const shortest = 4;

function isGlob(text: string): boolean {
  return /[*?[]/.test(text);
}

/** fnmatch's `*`, `?`, `[abc]` and `[!abc]`. */
function globPattern(glob: string): RegExp {
  const source = glob.replace(/\[!?\]?[^\]]*\]|[\s\S]/g, (part) => {
    if (part === '*') return '[\\s\\S]*';
    if (part === '?') return '[\\s\\S]';
    if (part.length === 1) return part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    return part.replace(/\\/g, '\\\\').replace(/^\[!/, '[^').replace(/^(\[\^?)\]/, '$1\\]');
  });
  return new RegExp(`^${source}$`);
}

function globMatches(glob: string, texts: readonly (string | null)[]): boolean {
  const pattern = globPattern(glob);
  return texts.some((text) => text !== null && pattern.test(text));
}

function isId(id: string | null, text: string): boolean {
  return id !== null && id.toLowerCase().startsWith(text.toLowerCase()) && (text.length >= shortest || text.length === id.length);
}

function isProcess({pid, node_ip, node_id}: Pause, text: string): boolean {
  const [process, node] = text.split('@', 2);
  return pid !== null && process === String(pid) && (node === undefined || node === node_ip || isId(node_id, node));
}

function taskMatches(pause: Pause, entry: string): boolean {
  const names = [pause.task_name, pause.actor_name, pause.actor_class];
  if (entry === '*' || names.includes(entry) || isProcess(pause, entry)) return true;
  if ([pause.task_id, pause.actor_id, pause.worker_id, ...pause.candidates].some((id) => isId(id, entry))) return true;
  return isGlob(entry) && globMatches(entry, names);
}

function jobMatches({job_id}: Pause, job: string): boolean {
  return job_id !== null && [job_id, shortJob(job_id)].some((id) => id.toLowerCase() === job.toLowerCase());
}

function actorMatches(pause: Pause, actor: string): boolean {
  const names = [pause.actor_class, pause.actor_name];
  return names.includes(actor) || isId(pause.actor_id, actor) || (isGlob(actor) && globMatches(actor, names));
}

function nodeMatches(pause: Pause, node: string): boolean {
  return pause.node_ip === node || isId(pause.node_id, node) || (isGlob(node) && globMatches(node, [pause.node_ip]));
}

/** As raydbg decides it. */
export function filterMatches(filter: PauseFilter, pause: Pause): boolean {
  const {tasks, job, actor, node} = filter;
  return (!tasks?.length || tasks.some((entry) => taskMatches(pause, entry))) && (!job || jobMatches(pause, job)) &&
    (!actor || actorMatches(pause, actor)) && (!node || nodeMatches(pause, node));
}

/** "Trainer.* 'my task' node=10.0.0.7": any of the names, and of all of job, actor and node. */
export function parseFilter(text: string): PauseFilter {
  const filter: PauseFilter = {};
  const tasks: string[] = [];
  for (const [word, , quoted] of text.matchAll(/(["'])(.*?)\1|\S+/g)) {
    const key = keys.find((one) => word.startsWith(`${one}=`));
    if (key) filter[key] = word.slice(key.length + 1);
    else tasks.push(quoted ?? word);
  }
  return tasks.length ? {...filter, tasks} : filter;
}

/** Names that no paused task has are looked for in names: "train" becomes "*train*". */
export function widen(filter: PauseFilter, pauses: readonly Pause[]): PauseFilter {
  if (!filter.tasks) return filter;
  return {...filter, tasks: filter.tasks.map((entry) =>
    (isGlob(entry) || pauses.some((pause) => taskMatches(pause, entry)) ? entry : `*${entry}*`))};
}

export function filterText({tasks, job, actor, node}: PauseFilter): string {
  const parts = [tasks?.join(', '), job && `job ${shortJob(job)}`, actor && `actor ${actor}`, node && `node ${node}`];
  return parts.filter(Boolean).join(' · ') || 'all tasks';
}

/** Just these, and none that come later. */
export function exactly(pauses: readonly Pause[]): PauseFilter {
  return {tasks: pauses.map(pauseTask)};
}

/** What a group of the view has in common; those that come later are in it, too, where that can be said. */
export function groupFilter(by: GroupBy, {label, pauses}: PauseGroup): PauseFilter {
  const all = (test: (pause: Pause) => boolean): boolean => pauses.every(test);
  const [first] = pauses;
  if (by === 'job' && first?.job_id) return {job: first.job_id};
  if (by === 'node' && first?.node_ip) return {node: first.node_ip};
  if (by === 'function' && all((pause) => pause.actor_class === label)) return {actor: label};
  if (by === 'function' && all((pause) => pause.task_name === label)) return {tasks: [label]};
  return exactly(pauses);
}

/** Whether a debug configuration is for a session over many tasks: those it names, or all of the program it launches. */
export function isMany(configuration: Record<string, unknown>): boolean {
  const {task, ticket, connect, request} = configuration;
  if (request === 'launch') return true;
  if (ticket !== undefined || connect !== undefined) return false;
  return ['tasks', 'mode', ...keys].some((key) => configuration[key] !== undefined) || (typeof task === 'string' && isGlob(task));
}

/** What a debug configuration says of it. */
export function filterOf(configuration: Record<string, unknown>): PauseFilter {
  const {tasks, task} = configuration;
  const named = typeof tasks === 'string' ? [tasks] : Array.isArray(tasks) ? tasks.map(String) : typeof task === 'string' ? [task] : undefined;
  const filter: PauseFilter = named ? {tasks: named} : {};
  for (const key of keys) {
    const value = configuration[key];
    if (typeof value === 'string') filter[key] = value;
  }
  return filter;
}

/**
 * Whether the session of a debug configuration is about this pause. `cluster`: one of raydbg.clusters; undefined: the one on
 * this machine. A name, a pattern or the beginning of an id may fit other pauses, too: it counts once a debugger is attached.
 * The tasks of a program that a configuration launches are not known here.
 */
export function isAbout(configuration: Record<string, unknown>, cluster: string | undefined, pause: Pause): boolean {
  const {task, request} = configuration;
  if (request === 'launch' || configuration['cluster'] !== cluster) return false;
  if (isMany(configuration)) return isAttached(pause) && filterMatches(filterOf(configuration), pause);
  return typeof task === 'string' && (task === pauseTask(pause) || (isAttached(pause) && filterMatches({tasks: [task]}, pause)));
}
