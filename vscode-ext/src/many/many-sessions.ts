/** The debug sessions of this window that are over many tasks: what is known of each, and what can be asked of it. */
import * as vscode from 'vscode';
import {Comparison} from './comparison';
import {focusNow} from '../session/focus';
import {Barrier, DapMessage, Frame, Group, Stacks, Stepped, StoppedFrames, Subject, ThreadStates, innermost} from './many';
import {isMany} from '../pauses/pause-filter';

/** Changes within this time are one. */
const coalesce = 150;
/** VS Code's own first questions come first: so long is waited for its variables, which a closed pane never asks for. */
const patience = 1000;

export type How = 'continue' | 'next' | 'stepIn' | 'stepOut';

/** A file and a line, as they are typed or as an editor shows them. */
export type Location = string | {path: string; line: number};

export class ManySession implements vscode.DebugAdapterTracker {
  readonly states = new ThreadStates();
  groups: readonly Group[] = [];
  /** The latest one, until its tasks go on. */
  barrier: Barrier | undefined;
  private readonly frames = new StoppedFrames();
  private timer: NodeJS.Timeout | undefined;
  /** VS Code has the first variables. */
  private shown = false;
  /** It has answered as a session over many does. */
  private known = false;
  private ended = false;
  /** A barrier was asked for: the answer is older than the events that follow it. */
  private awaitsBarrier = false;

  /** What is shown first gets the focus from here. */
  private focuses: boolean;

  constructor(readonly session: vscode.DebugSession, private readonly changed: (session: ManySession) => void) {
    this.focuses = session.configuration['preserveFocus'] === true;
  }

  get isKnown(): boolean {
    return this.known && !this.ended;
  }

  get members(): readonly number[] {
    return this.groups.find(({name}) => name === 'all')?.threadIds ?? [];
  }

  membersOf({group, threadIds}: Subject): readonly number[] {
    return threadIds ?? this.groups.find(({name}) => name === (group ?? 'all'))?.threadIds ?? [];
  }

  nameOf(id: number): string {
    return this.states.names.get(id) ?? `thread ${id}`;
  }

  frameOf(id: number): Frame | undefined {
    return this.states.isStopped(id) ? this.frames.of(id) : undefined;
  }

  /** Another number is another stop. */
  stops(id: number): number {
    return this.frames.stops(id);
  }

  // --- what passes ---

  onWillReceiveMessage(message: DapMessage): void {
    if (message.command === 'disconnect') this.end();
    this.see(message);
  }

  onDidSendMessage(message: DapMessage): void {
    const {event, command, body} = message;
    if (event === 'raydbg/barrier') this.takeBarrier(message);
    if (command === 'raydbg/barrier' && message.type === 'response' && this.awaitsBarrier) {
      this.awaitsBarrier = false;
      if (message.success) this.takeBarrier(message);
    }
    if (command === 'variables') this.show();
    if (command === 'stackTrace' && message.success && this.focuses) {
      this.focuses = false;
      void this.focusFirst();
    }
    this.see(message);
    const regrouped = command === 'raydbg/group' || (command === 'evaluate' && body?.raydbg !== undefined);
    if (event === 'stopped' || event === 'thread' || (regrouped && message.type === 'response')) this.reload();
  }

  onWillStopSession(): void {
    this.end();
  }

  onExit(): void {
    this.end();
  }

  private async focusFirst(): Promise<void> {
    const id = this.states.firstStopped();
    if (!(await focusNow()) && id !== undefined && !this.ended) await this.focus(id).catch(() => undefined);
  }

  private see(message: DapMessage): void {
    const moved = this.states.apply(message);
    if (message.type === 'request' && (moved || message.command === 'raydbg/step') && this.barrier?.state !== 'waiting') this.barrier = undefined;
    if (!moved) return;
    if (message.event === 'stopped') this.frames.stopped(message.body?.allThreadsStopped ? undefined : message.body?.threadId);
    if (this.known) this.changed(this);
  }

  private end(): void {
    if (this.ended) return;
    clearTimeout(this.timer);
    this.ended = true;
    this.changed(this);
  }

  private reload(): void {
    if (!this.ended) this.timer ??= setTimeout(() => void this.load(), this.shown ? coalesce : patience);
  }

  private show(): void {
    if (this.shown) return;
    this.shown = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.reload();
  }

  private async load(): Promise<void> {
    this.timer = undefined;
    try {
      const {groups} = await this.request<{groups: Group[]}>('groups');
      this.groups = groups;
      this.known = true;
      this.changed(this);
    } catch {
      return; // it has ended, or is none over many: its own messages say so
    }
  }

  private takeBarrier(message: DapMessage): void {
    const barrier = message.body as unknown as Barrier;
    this.barrier = {...barrier, state: barrier.state ?? (barrier.complete ? 'complete' : 'waiting')};
    this.changed(this);
  }

  // --- requests; they reject with a sentence ---

  private async request<T>(name: string, args: object = {}): Promise<T> {
    return await this.session.customRequest(`raydbg/${name}`, args) as T;
  }

  async step(subject: Subject, how: How, until?: Location): Promise<Stepped> {
    return await this.request<Stepped>('step', {...subject, how, ...(until ? {until} : {})});
  }

  async startBarrier(subject: Subject, location: Location, timeout?: number): Promise<void> {
    this.awaitsBarrier = true;
    await this.request('barrier', {...subject, place: location, ...(timeout ? {timeout} : {})});
  }

  async endBarrier(): Promise<void> {
    await this.request('barrier', {remove: true});
  }

  async makeGroup(name: string, what: {filters: string[]} | {threadIds: number[]}): Promise<Group> {
    return await this.request<Group>('group', {name, ...what});
  }

  async deleteGroup(name: string): Promise<void> {
    await this.request('group', {name, remove: true});
  }

  async compare(subject: Subject, expression: string): Promise<Comparison> {
    return await this.request<Comparison>('compare', {...subject, expression});
  }

  async stacks(subject: Subject): Promise<Stacks> {
    return await this.request<Stacks>('stacks', subject);
  }

  /** The editor shows this task: as if it had just stopped. */
  async focus(id: number): Promise<void> {
    await this.session.customRequest('evaluate', {expression: `/focus thread=${id}`, context: 'repl'});
  }

  /** Learns where those stand of whom it is not known. */
  async locate(): Promise<void> {
    const threadIds = this.frames.ask(this.members.filter((id) => this.states.isStopped(id)));
    if (!threadIds.length) return;
    try {
      const {tree} = await this.stacks({threadIds});
      if (this.frames.learn(innermost(tree))) this.changed(this);
    } catch (error) {
      this.frames.askAgain(threadIds);
      throw error;
    }
  }
}

/** Those that run, and the one that the views are about: the active one, or the latest. */
export class ManySessions implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  private readonly sessions = new Map<string, ManySession>();
  private readonly changed = new vscode.EventEmitter<ManySession>();
  /** Something about a session, or which one is the current. */
  readonly onDidChange = this.changed.event;
  private readonly listeners: vscode.Disposable[];
  /** What the views' condition is. */
  private some = false;

  constructor() {
    this.listeners = [
      vscode.debug.onDidChangeActiveDebugSession(() => {
        const {current} = this;
        if (current) this.changed.fire(current);
      }),
      vscode.debug.onDidTerminateDebugSession(({id}) => {
        const ended = this.sessions.get(id);
        this.sessions.delete(id);
        if (ended) this.tell(ended);
      }),
    ];
  }

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker | undefined {
    if (!isMany(session.configuration)) return undefined;
    const many = new ManySession(session, (one) => this.tell(one));
    this.sessions.set(session.id, many);
    return many;
  }

  get current(): ManySession | undefined {
    const known = [...this.sessions.values()].filter((one) => one.isKnown);
    return known.find(({session}) => session.id === vscode.debug.activeDebugSession?.id) ?? known.at(-1);
  }

  find(id: string): ManySession | undefined {
    const found = this.sessions.get(id);
    return found?.isKnown ? found : undefined;
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
    this.changed.dispose();
  }

  private tell(session: ManySession): void {
    const some = this.current !== undefined;
    if (some !== this.some) void vscode.commands.executeCommand('setContext', 'raydbg.many', some);
    this.some = some;
    this.changed.fire(session);
  }
}
