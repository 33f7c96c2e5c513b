/** Whether a debug session drives its task or observes it: shown, and taken over. */
import * as vscode from 'vscode';
import {startAttach} from './configuration';
import {showError, textOf} from '../base/errors';
import {showInformation} from '../base/messages';
import {hasRelayId, pauseTitle} from '../pauses/pause';
import {isMany, sessionTest} from '../pauses/pause-filter';
import {Choice, Pauses} from '../pauses/pick';
import {SessionNode} from './sessions-view';
import {Role} from './sessions';

/** A session of this window. */
interface Own {
  session: vscode.DebugSession;
  isAbout: ReturnType<typeof sessionTest>;
}

export class Roles implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('raydbg.role', vscode.StatusBarAlignment.Left, 9);
  private readonly roles = new Map<string, Role>();
  private readonly sessions = new Map<string, Own>();
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly pauses: Pauses, private readonly changed: () => void) {
    this.item.name = 'Ray Debug Role';
    this.item.command = 'raydbg.takeOver';
    this.listeners = [
      vscode.debug.onDidStartDebugSession((session) => {
        if (session.type !== 'raydbg') return;
        this.remember(session);
        this.changed();
      }),
      vscode.debug.onDidTerminateDebugSession((session) => this.forget(session)),
      vscode.debug.onDidReceiveDebugSessionCustomEvent((event) => {
        if (event.event === 'raydbg/role') this.learn(event.session, event.body as Role);
      }),
      vscode.debug.onDidChangeActiveDebugSession(() => this.show()),
    ];
  }

  /** The session of that row's task if this window has one that observes; else a new one. Without a row: the active one. */
  async takeOver(node?: {data: SessionNode}): Promise<void> {
    const choice = node && this.choice(node.data);
    if (node && !choice) return;
    const own = choice ? this.own(choice) : vscode.debug.activeDebugSession;
    if (!own && choice) await startAttach(choice, {takeOver: true});
    else if (own?.type === 'raydbg') await this.drive(own);
  }

  private async drive(session: vscode.DebugSession): Promise<void> {
    try {
      await session.customRequest('raydbg/takeOver');
    } catch (error) {
      void showError(`${session.name}: ${textOf(error)}`);
    }
  }

  async observe(node?: {data: SessionNode}): Promise<void> {
    const choice = node && this.choice(node.data);
    if (choice && !this.saysOwn(choice)) await startAttach(choice, {role: 'observer'});
  }

  /** Whether a session of this window is attached to it. */
  debugs(choice: Choice): boolean {
    return [...this.sessions.values()].some(({isAbout}) => isAbout(choice));
  }

  /** True if so: it was said, as a second session would only be in the way of the first. */
  saysOwn(choice: Choice): boolean {
    if (!this.debugs(choice)) return false;
    void showInformation(`${pauseTitle(choice.pause)} is being debugged in this window.`);
    void vscode.commands.executeCommand('workbench.view.debug');
    return true;
  }

  dispose(): void {
    this.item.dispose();
    for (const listener of this.listeners) listener.dispose();
  }

  /** The pause of the row; that there is none is said. */
  private choice(node: SessionNode): Choice | undefined {
    if (node.kind !== 'session') return undefined;
    const {feed, session} = node;
    const found = this.pauses.pauses.find((one) => one.feed.cluster.name === feed.cluster.name && hasRelayId(one.pause, session.pause));
    if (!found) void showInformation(`${session.task_name ?? 'The task'} is not among the paused tasks of ${feed.cluster.name}.`);
    return found;
  }

  /** The session that is surely about this task alone: one over many tasks would take over all of them. */
  private own(choice: Choice): vscode.DebugSession | undefined {
    return [...this.sessions.values()].find(({session, isAbout}) => !isMany(session.configuration) && isAbout(choice, true))?.session;
  }

  private remember(session: vscode.DebugSession): void {
    if (this.sessions.has(session.id)) return;
    this.sessions.set(session.id, {session, isAbout: sessionTest(session.configuration, this.pauses.pauses)});
  }

  private learn(session: vscode.DebugSession, role: Role): void {
    const before = this.roles.get(session.id)?.role;
    this.remember(session);
    this.roles.set(session.id, role);
    this.show();
    this.changed();
    if (role.role === before || (!before && role.role === 'driver')) return;
    if (role.role === 'driver') void showInformation(`${session.name}: this session drives now.`);
    else void this.offer(session, role);
  }

  private async offer(session: vscode.DebugSession, role: Role): Promise<void> {
    const answer = await showInformation(
      `${session.name}: ${role.driver ?? 'nobody'} drives; this session observes.`, 'Take Over');
    if (answer) await this.drive(session);
  }

  private forget(session: vscode.DebugSession): void {
    this.sessions.delete(session.id);
    this.roles.delete(session.id);
    this.show();
    this.changed();
  }

  private show(): void {
    const session = vscode.debug.activeDebugSession;
    const role = session && this.roles.get(session.id);
    if (role?.role !== 'observer') {
      this.item.hide();
      return;
    }
    this.item.text = '$(eye) observing';
    this.item.tooltip = `${role.driver ?? 'nobody'} drives ${session?.name ?? ''}: click to take over`;
    this.item.show();
  }
}
