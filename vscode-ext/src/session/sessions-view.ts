/** The view "Sessions": who is attached through the relay. */
import * as vscode from 'vscode';
import {Feed} from '../cluster/feed';
import {Feeds} from '../cluster/feeds';
import {logError, textOf} from '../base/errors';
import {Poller} from '../base/poller';
import {Exit, errorText, run} from '../base/program';
import {Row, row} from '../base/rows';
import {RowsView} from '../base/rows-view';
import {Session, parseSessions, sessionDescription} from './sessions';

export type SessionNode =
  | {kind: 'session'; feed: Feed; session: Session}
  | {kind: 'problem'; text: string};

const interval = 2000;

export class SessionsView implements vscode.Disposable {
  private readonly rows = new RowsView<SessionNode>('raydbg.sessions', draw);
  private readonly poller: Poller;
  private readonly listener: vscode.Disposable;

  constructor(private readonly feeds: Feeds) {
    const {view} = this.rows;
    this.poller = new Poller(() => this.ask(), () => interval, logError);
    this.listener = view.onDidChangeVisibility(() => (this.poller.looking = view.visible));
    this.poller.looking = view.visible;
  }

  refresh(): void {
    this.poller.now();
  }

  dispose(): void {
    this.poller.looking = false;
    this.listener.dispose();
    this.rows.dispose();
  }

  private async ask(): Promise<void> {
    const all = await Promise.all(this.feeds.all.map((feed) => this.part(feed)));
    const found = all.filter((rows) => rows !== undefined);
    this.rows.show(found.flat());
    const state = !found.length ? 'none' : found.flat().length ? 'some' : 'empty';
    await vscode.commands.executeCommand('setContext', 'raydbg.sessions.state', state);
  }

  /** Undefined: it has no relay. */
  private async part(feed: Feed): Promise<Row<SessionNode>[] | undefined> {
    try {
      return await this.sessionsOf(feed);
    } catch (error) {
      return [problemRow(feed.cluster.name, textOf(error))];
    }
  }

  private async sessionsOf(feed: Feed): Promise<Row<SessionNode>[] | undefined> {
    const {name, args} = feed.cluster;
    const program = await this.feeds.program();
    const result = await run(program.path, ['sessions', '--format', 'json', ...args], await feed.cluster.environment());
    if (result.code === Exit.unreachable) return undefined;
    if (result.code !== Exit.ok) return [problemRow(name, errorText(result.stderr))];
    const now = Date.now();
    return parseSessions(result.stdout).map((session) =>
      row<SessionNode>(`${name}/${session.id}`, {kind: 'session', feed, session}, `${session.task_name ?? ''} ${sessionDescription(session, now)}`));
  }
}

function problemRow(name: string, text: string): Row<SessionNode> {
  return row<SessionNode>(`${name}/!`, {kind: 'problem', text}, text);
}

function draw({data}: Row<SessionNode>): vscode.TreeItem {
  if (data.kind === 'problem') {
    const item = new vscode.TreeItem(data.text);
    item.iconPath = new vscode.ThemeIcon('warning');
    return item;
  }
  const {session} = data;
  const item = new vscode.TreeItem(session.task_name ?? session.client ?? 'a client');
  item.description = sessionDescription(session, Date.now());
  item.tooltip = `${item.description}\nsession ${session.id} of the relay`;
  item.iconPath = new vscode.ThemeIcon(session.role === 'driver' ? 'debug-alt' : session.role === 'observer' ? 'eye' : 'plug');
  item.accessibilityInformation = {label: `${session.task_name ?? ''} ${item.description}`};
  item.contextValue = `session ${session.role ?? ''}`;
  return item;
}
