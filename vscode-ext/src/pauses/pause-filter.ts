/** Which paused tasks a session over many is about: what `attach` takes as `tasks`, `job`, `actor` and `node`. Pure. */
import {GroupBy, Pause, PauseGroup, isAttached, pauseKey, pauseTask, shortJob} from './pause';

/** A task has to be any of `tasks`, and of all the others; nothing said: any task. */
export interface PauseFilter {
  tasks?: string[];
  job?: string;
  actor?: string;
  node?: string;
}

const keys = ['job', 'actor', 'node'] as const;
const shortest = 4;

type Test = (pause: Pause) => boolean;

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

type Names = (pause: Pause) => readonly (string | null)[];

/** Whether one of the names is the text, or fits it if it is a pattern. */
function nameTest(text: string, names: Names): Test {
  const pattern = isGlob(text) ? globPattern(text) : undefined;
  return (pause) => names(pause).some((name) => name !== null && (name === text || pattern?.test(name)));
}

function isId(id: string | null, text: string): boolean {
  return id !== null && id.toLowerCase().startsWith(text.toLowerCase()) && (text.length >= shortest || text.length === id.length);
}

function isProcess({pid, node_ip, node_id}: Pause, text: string): boolean {
  const [process, node] = text.split('@', 2);
  return pid !== null && process === String(pid) && (node === undefined || node === node_ip || isId(node_id, node));
}

function taskNames({task_name, actor_name, actor_class}: Pause): (string | null)[] {
  return [task_name, actor_name, actor_class];
}

function taskIds({task_id, actor_id, worker_id, candidates}: Pause): (string | null)[] {
  return [task_id, actor_id, worker_id, ...candidates];
}

function taskTest(entry: string): Test {
  if (entry === '*') return () => true;
  const named = nameTest(entry, taskNames);
  return (pause) => named(pause) || isProcess(pause, entry) || taskIds(pause).some((id) => isId(id, entry));
}

/** A whole id of a task, or a process at an address: no beginning of another id, and no pattern. */
const whole = /^(?:[0-9a-f]{48}|\d+@[\w.:]*[.:][\w.:]*)$/i;

/** A list of many tasks is one that names each, which are found at once. */
function tasksTest(tasks: readonly string[]): Test {
  const exact = new Set(tasks.filter((entry) => whole.test(entry)).map((entry) => entry.toLowerCase()));
  const others = tasks.filter((entry) => !whole.test(entry)).map(taskTest);
  const named = (text: string | null): boolean => text !== null && exact.has(text.toLowerCase());
  return (pause) => (exact.size > 0 && (named(`${pause.pid ?? ''}@${pause.node_ip ?? ''}`) || taskIds(pause).some(named))) || others.some((test) => test(pause));
}

function jobTest(job: string): Test {
  return ({job_id}) => job_id !== null && [job_id, shortJob(job_id)].some((id) => id.toLowerCase() === job.toLowerCase());
}

function actorTest(actor: string): Test {
  const named = nameTest(actor, ({actor_class, actor_name}) => [actor_class, actor_name]);
  return (pause) => named(pause) || isId(pause.actor_id, actor);
}

function nodeTest(node: string): Test {
  const named = nameTest(node, ({node_ip}) => [node_ip]);
  return (pause) => named(pause) || isId(pause.node_id, node);
}

/** Decides as raydbg does. What many pauses are tested with is made once. */
export function filterTest({tasks, job, actor, node}: PauseFilter): Test {
  const tests = [tasks?.length ? tasksTest(tasks) : undefined, job ? jobTest(job) : undefined, actor ? actorTest(actor) : undefined, node ? nodeTest(node) : undefined]
    .filter((test) => test !== undefined);
  return (pause) => tests.every((test) => test(pause));
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
  return {...filter, tasks: filter.tasks.map((entry) => (isGlob(entry) || pauses.some(tasksTest([entry])) ? entry : `*${entry}*`))};
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

/** A pause, and the cluster that lists it. */
export interface Listed {
  feed: {cluster: {name: string; added: boolean}; set: {pauses: ReadonlyMap<string, Pause>}};
  pause: Pause;
}

const isTaskId = /^[0-9a-f]{48}$/i;

/**
 * Whether a name in the configuration may mean a task of this cluster: of the one that it names, else of the one on this machine. An
 * address or a relay of its own leads to a cluster that is not known here; a whole task id is the same in each list that has it.
 */
function isOfCluster({task, cluster: named, address, relay}: Record<string, unknown>, {feed: {cluster}}: Listed): boolean {
  if (named) return named === cluster.name;
  return address || relay ? typeof task === 'string' && isTaskId.test(task) : !cluster.added;
}

/** The first pause that is called exactly so, in whichever cluster unless the configuration says where. */
export function exactTask<L extends Listed>(configuration: Record<string, unknown>, listed: readonly L[]): L | undefined {
  const {task, cluster, address, relay} = configuration;
  const isAnywhere = !cluster && !address && !relay;
  return listed.find((one) => pauseTask(one.pause) === task && (isAnywhere || isOfCluster(configuration, one)));
}

/** The pause that a single task's attach finds among these; undefined: none, or several. An idle worker counts only if nothing else does. */
function taskOf(configuration: Record<string, unknown>, listed: readonly Listed[]): Listed | undefined {
  const exact = exactTask(configuration, listed);
  if (exact) return exact;
  const fits = filterTest({tasks: [String(configuration['task'])]});
  const found = listed.filter((one) => isOfCluster(configuration, one) && fits(one.pause));
  const paused = found.filter(({pause}) => pause.state !== 'idle');
  const [only, ...others] = paused.length ? paused : found;
  return others.length ? undefined : only;
}

/** Whether a further pause of its cluster fits. */
function hasTwin({feed, pause}: Listed, fits: Test): boolean {
  const key = pauseKey(pause);
  for (const [other, one] of feed.set.pauses) if (other !== key && fits(one)) return true;
  return false;
}

/**
 * Says of a pause whether the session of a debug configuration is about it. `listed`: what is paused as the session begins. A session
 * of a single task is about the process that it found then, also when that runs another task. If it is not known which that was, a
 * name or the beginning of an id counts where a debugger is attached and no other pause fits: a guess, unless `surely` excludes it.
 * The tasks of a program that a configuration launches are not known here.
 */
export function sessionTest(configuration: Record<string, unknown>, listed: readonly Listed[]): (one: Listed, surely?: boolean) => boolean {
  const {task, request} = configuration;
  const many = isMany(configuration);
  if (request === 'launch' || (!many && typeof task !== 'string')) return () => false;
  const own = many ? undefined : taskOf(configuration, listed);
  const isOwn = own && ((one: Listed) => one.feed.cluster.name === own.feed.cluster.name && pauseKey(one.pause) === pauseKey(own.pause));
  const fits = filterTest(many ? filterOf(configuration) : {tasks: [String(task)]});
  const isTaken: Test = (pause) => isAttached(pause) && fits(pause);
  const sure = many || whole.test(String(task));
  return (one, surely = false) => {
    if (isOwn?.(one)) return true;
    if (!isOfCluster(configuration, one)) return false;
    if (!many && task === pauseTask(one.pause)) return true;
    return !own && isTaken(one.pause) && (sure || (!surely && !hasTwin(one, isTaken)));
  };
}
