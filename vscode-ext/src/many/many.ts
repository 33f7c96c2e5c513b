/** A session over many tasks, by its custom requests and DAP's own events (docs/many.md). Pure. */
import {plural} from '../objects/objects';

export interface Group {
  name: string;
  /** As they were typed. */
  filters: string;
  threadIds: number[];
}

/** A group, a filter, or some tasks; neither: all. */
export interface Subject {
  group?: string;
  threadIds?: number[];
}

/** Ids of the rows of Groups: a group's name may be any word. */
export const groupRowIds = {
  barrier: (session: string): string => `${session}/barrier`,
  group: (session: string, name: string): string => `${session}/group/${name}`,
  task: (session: string, name: string, thread: number): string => `${session}/task/${thread}/${name}`,
};

/** A subject that was chosen, as long as its session is the current one and has the group; else all of the current one's. */
export function subjectIn<S extends {groups: readonly Group[]}>(current: S, chosen: {many: S; subject: Subject} | undefined): Subject {
  if (chosen?.many !== current) return {};
  const {group} = chosen.subject;
  return group === undefined || current.groups.some(({name}) => name === group) ? chosen.subject : {};
}

export interface Absent {
  threadId: number;
  name: string;
  /** What it does; why it is not waited for. */
  what: string;
}

export interface Barrier {
  place: string;
  arrived: number[];
  missing: Absent[];
  gone: Absent[];
  complete: boolean;
  /** Absent in the answer to a request. */
  state?: 'waiting' | 'complete' | 'timeout' | 'cancelled';
}

export interface Frame {
  name: string;
  path: string | null;
  line: number;
}

/** Frames that the same tasks share, outermost first; the innermost has the children. */
export interface StackRun {
  frames: Frame[];
  count: number;
  /** So many stacks end here. */
  ending: number;
  tasks: string;
  threadIds: number[];
  children: StackRun[];
}

export interface Stacks {
  tasks: number;
  stacks: number;
  tree: StackRun[];
  running: number[];
  notShown: {threadId: number; name: string; why: string}[];
}

export interface Stepped {
  threadIds: number[];
  running: number;
}

export function groupText(count: number, stopped: number): string {
  const tasks = plural(count, 'task');
  if (!count) return 'nobody';
  return stopped === count ? `${tasks}, stopped` : stopped ? `${tasks}, ${stopped} stopped` : `${tasks}, running`;
}

/** "23 of 24 · missing: rank 7" */
export function barrierText({arrived, missing}: Barrier): string {
  const count = `${arrived.length} of ${arrived.length + missing.length}`;
  const names = missing.slice(0, 3).map(({name}) => shortName(name)).join(', ');
  const more = missing.length > 3 ? ` and ${missing.length - 3} more` : '';
  return missing.length ? `${count} · missing: ${names}${more}` : count;
}

/** What tells a thread from the others stands at the front of its name. */
export function shortName(name: string): string {
  return /^rank \d+/.exec(name)?.[0] ?? name;
}

/** "rank 3" and "Trainer.step 10.0.0.7 pid 811": the first word, or the rank, and what follows. */
export function splitName(name: string): [string, string] {
  const first = /^(?:rank \d+|\S+)/.exec(name)?.[0] ?? name;
  return [first, name.slice(first.length).trim()];
}

export function locationText({path, line}: Frame): string {
  return path === null ? '' : `${path.replace(/^.*[\\/]/, '')}:${line}`;
}

/** The innermost frame of each thread of a tree. */
export function innermost(tree: readonly StackRun[], into = new Map<number, Frame>()): Map<number, Frame> {
  for (const {frames, threadIds, children} of tree) {
    const last = frames.at(-1);
    if (last) for (const id of threadIds) into.set(id, last);
    innermost(children, into);
  }
  return into;
}

/** Those whose stack ends with the run itself. */
export function endingHere({threadIds, children}: StackRun): number[] {
  const further = new Set(children.flatMap((child) => child.threadIds));
  return threadIds.filter((id) => !further.has(id));
}

/** "train.py:57", with "--timeout 60" if one is to be given up; undefined: it is no location. */
export function parseLocation(text: string): {location: string; timeout?: number} | undefined {
  const found = /^\s*(\S.*?:[1-9]\d*)(?:\s+--timeout\s+(\d+(?:\.\d+)?))?\s*$/.exec(text);
  if (!found?.[1]) return undefined;
  const timeout = Number(found[2] ?? 0);
  if (found[2] !== undefined && !(timeout > 0)) return undefined;
  return timeout ? {location: found[1], timeout} : {location: found[1]};
}

/** What passes between an editor and the adapter, as far as it matters here. */
export interface DapMessage {
  type?: string;
  seq?: number;
  command?: string;
  event?: string;
  request_seq?: number;
  success?: boolean;
  arguments?: {threadId?: number; singleThread?: boolean; expression?: string};
  body?: {threadId?: number; reason?: string; allThreadsStopped?: boolean; allThreadsContinued?: boolean; threads?: {id: number; name: string}[]; raydbg?: unknown};
}

const moving = new Set(['continue', 'next', 'stepIn', 'stepOut', 'goto']);
/** The verb that shows a thread: after its answer the relay sends the thread's stop once more (on_focus() in many_verbs.c). */
const focusVerb = /^\s*\/f(?:ocus)?\s/;

/** Which threads are stopped, as an editor knows it from the messages of its session. */
export class ThreadStates {
  readonly names = new Map<number, string>();
  private readonly stopped = new Set<number>();
  /** Of threads whose stop is not over until it is answered, by the request's seq. */
  private readonly asked = new Map<number, number>();
  /** Everybody is stopped of whom nothing else was said since. */
  private all = false;
  private readonly running = new Set<number>();
  /** Requests for a thread to be shown, by their seq. */
  private readonly focusing = new Set<number>();
  /** One was answered: the next stop of a stopped thread is the one that it has. */
  private showsAgain = false;

  isStopped(id: number): boolean {
    return this.stopped.has(id) || (this.all && !this.running.has(id));
  }

  /** The first of the list. */
  firstStopped(): number | undefined {
    return [...this.names.keys()].find((id) => this.isStopped(id));
  }

  /** Whether the message changed anything. */
  apply(message: DapMessage): boolean {
    if (message.type === 'request') return this.request(message);
    if (message.type === 'response') return this.response(message);
    return this.event(message);
  }

  private request({command = '', seq = 0, arguments: args}: DapMessage): boolean {
    const id = args?.threadId;
    if (command === 'evaluate' && focusVerb.test(args?.expression ?? '')) this.focusing.add(seq);
    if (!moving.has(command) || id === undefined || !this.isStopped(id)) return false;
    this.asked.set(seq, id); // a stop may come before the answer
    return this.runs(id);
  }

  private response({request_seq = 0, success, command, body}: DapMessage): boolean {
    if (command === 'threads' && body?.threads) return this.list(body.threads);
    if (this.focusing.delete(request_seq)) this.showsAgain = success === true;
    const id = this.asked.get(request_seq);
    this.asked.delete(request_seq);
    return id !== undefined && success === false && this.stops(id);
  }

  private event({event, body}: DapMessage): boolean {
    const id = body?.threadId ?? 0;
    if (event === 'stopped' && this.isShownAgain(id, body?.allThreadsStopped)) return false;
    if (event === 'stopped' && body?.allThreadsStopped) {
      this.all = true;
      this.running.clear();
      return true;
    }
    if (event === 'stopped') return this.stops(id);
    if (event === 'continued') return this.runs(id);
    if (event !== 'thread') return false;
    if (body?.reason === 'exited') this.forget(id);
    else if (this.names.size && !this.names.has(id)) this.runs(id); // else it is told for its name
    return true;
  }

  private isShownAgain(id: number, all = false): boolean {
    const again = this.showsAgain && !all && this.isStopped(id);
    this.showsAgain = false;
    return again;
  }

  private list(threads: readonly {id: number; name: string}[]): boolean {
    const before = JSON.stringify([...this.names]);
    this.names.clear();
    for (const {id, name} of threads) this.names.set(id, name);
    return JSON.stringify([...this.names]) !== before;
  }

  private stops(id: number): boolean {
    this.stopped.add(id);
    this.running.delete(id);
    return true;
  }

  private runs(id: number): boolean {
    this.stopped.delete(id);
    this.running.add(id);
    return true;
  }

  private forget(id: number): void {
    this.runs(id);
    this.names.delete(id);
  }
}

/** Where threads are stopped, as far as it is known. */
export class StoppedFrames {
  private readonly frames = new Map<number, Frame>();
  /** How often all have stopped together, and each by itself. */
  private allStops = 0;
  private readonly ownStops = new Map<number, number>();
  /** The stop at which a thread was asked for: one that has no stack is not asked for again. */
  private readonly asked = new Map<number, number>();

  /** Another number is another stop. */
  stops(id: number): number {
    return this.allStops + (this.ownStops.get(id) ?? 0);
  }

  of(id: number): Frame | undefined {
    return this.frames.get(id);
  }

  /** The thread has stopped; undefined: all have. */
  stopped(id: number | undefined): void {
    if (id === undefined) {
      this.frames.clear();
      this.allStops++;
    } else {
      this.frames.delete(id);
      this.ownStops.set(id, (this.ownStops.get(id) ?? 0) + 1);
    }
  }

  /** Those of the threads that are to be asked for now. */
  ask(ids: readonly number[]): number[] {
    const found = ids.filter((id) => !this.frames.has(id) && this.asked.get(id) !== this.stops(id));
    for (const id of found) this.asked.set(id, this.stops(id));
    return found;
  }

  /** There was no answer. */
  askAgain(ids: readonly number[]): void {
    for (const id of ids) this.asked.delete(id);
  }

  /** An answer; one for an earlier stop of a thread is not used. Whether anything is known now that was not. */
  learn(frames: ReadonlyMap<number, Frame>): boolean {
    let more = false;
    for (const [id, frame] of frames) {
      if (this.asked.get(id) !== this.stops(id)) continue;
      more ||= !this.frames.has(id);
      this.frames.set(id, frame);
    }
    return more;
  }
}
