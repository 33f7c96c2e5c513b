/** Whether a debug session drives its task or observes it: shown, and taken over. */
import * as vscode from 'vscode';
import {startAttach} from './configuration';
import {showError, textOf} from '../base/errors';
import {isAttached, pauseKey, pauseTask, pauseTitle} from '../pauses/pause';
import {filterMatches, filterOf, isMany} from '../pauses/pause-filter';
import {Choice, Pauses} from '../pauses/pick';
import {SessionNode} from './sessions-view';
import {Role} from './sessions';

/** Of many, those that somebody is attached to; of what a launched program runs, nothing is known here. */
function isAbout(configuration: vscode.DebugConfiguration, {feed: {cluster}, pause}: Choice): boolean {
  if (configuration.request === 'launch' || configuration['cluster'] !== (cluster.added ? cluster.name : undefined)) return false;
  return isMany(configuration) ? isAttached(pause) && filterMatches(filterOf(configuration), pause) : configuration['task'] === pauseTask(pause);
}

export class Roles implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('raydbg.role', vscode.StatusBarAlignment.Left, 9);
  private readonly roles = new Map<string, Role>();
  private readonly sessions = new Map<string, vscode.DebugSession>();
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly pauses: Pauses, private readonly changed: () => void) {
    this.item.name = 'Ray Debug Role';
    this.item.command = 'raydbg.takeOver';
    this.listeners = [
      vscode.debug.onDidStartDebugSession((session) => {
        if (session.type !== 'raydbg') return;
        this.sessions.set(session.id, session);
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
    const choice = node?.data.kind === 'session' ? this.choice(node.data) : undefined;
    const own = choice ? this.own(choice) : vscode.debug.activeDebugSession;
    if (!own && choice) {
      await startAttach(choice, {takeOver: true});
      return;
    }
    if (own?.type === 'raydbg') await this.drive(own);
  }

  private async drive(session: vscode.DebugSession): Promise<void> {
    try {
      await session.customRequest('raydbg/takeOver');
    } catch (error) {
      void showError(`${session.name}: ${textOf(error)}`);
    }
  }

  async observe(node?: {data: SessionNode}): Promise<void> {
    const choice = node?.data.kind === 'session' ? this.choice(node.data) : undefined;
    if (choice && !this.saysOwn(choice)) await startAttach(choice, {role: 'observer'});
  }

  /** Whether a session of this window is attached to it. */
  debugs(choice: Choice): boolean {
    return [...this.sessions.values()].some(({configuration}) => isAbout(configuration, choice));
  }

  /** True if so: it was said, as a second session would only be in the way of the first. */
  saysOwn(choice: Choice): boolean {
    if (!this.debugs(choice)) return false;
    void vscode.window.showInformationMessage(`${pauseTitle(choice.pause)} is being debugged in this window.`);
    void vscode.commands.executeCommand('workbench.view.debug');
    return true;
  }

  dispose(): void {
    this.item.dispose();
    for (const listener of this.listeners) listener.dispose();
  }

  private choice(node: Extract<SessionNode, {kind: 'session'}>): Choice | undefined {
    return this.pauses.pauses.find(({feed, pause}) => feed === node.feed && pauseKey(pause) === node.session.pause);
  }

  private own(choice: Choice): vscode.DebugSession | undefined {
    return [...this.sessions.values()].find((session) => session.configuration['task'] === pauseTask(choice.pause));
  }

  private learn(session: vscode.DebugSession, role: Role): void {
    const before = this.roles.get(session.id)?.role;
    this.sessions.set(session.id, session);
    this.roles.set(session.id, role);
    this.show();
    this.changed();
    if (role.role === before || (!before && role.role === 'driver')) return;
    if (role.role === 'driver') void vscode.window.showInformationMessage(`${session.name}: this session drives now.`);
    else void this.offer(session, role);
  }

  private async offer(session: vscode.DebugSession, role: Role): Promise<void> {
    const answer = await vscode.window.showInformationMessage(
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
