/** The view "Merged Stacks": the stacks of many tasks as one tree, equal frames merged. */
import * as vscode from 'vscode';
import {textOf} from '../base/errors';
import {Frame, StackRun, Stacks, Subject, endingHere, locationText, shortName, subjectIn} from './many';
import {ManySession, ManySessions} from './many-sessions';
import {plural} from '../objects/objects';
import {Row, row} from '../base/rows';
import {RowsView} from '../base/rows-view';

export type StackNode =
  | {kind: 'frame'; many: ManySession; frame: Frame; threadIds: number[]; text: string; ends: boolean}
  | {kind: 'note'; text: string; icon: string};
type StackRow = Row<StackNode>;

/** After a stop this long passes before stacks are asked for: steps come in bunches. */
const coalesce = 400;

export class StacksView implements vscode.Disposable {
  private readonly rows = new RowsView<StackNode>('raydbg.stacks', draw);
  private readonly listeners: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  /** What was shown last, and whose stops it is of. */
  private shown = '';
  private chosen: {many: ManySession; subject: Subject} | undefined;
  private asking = false;

  constructor(private readonly sessions: ManySessions) {
    this.listeners = [sessions.onDidChange(() => this.look()), this.rows.view.onDidChangeVisibility(() => this.look())];
  }

  /** Of these tasks from now on. */
  async show(many: ManySession, subject: Subject): Promise<void> {
    this.chosen = {many, subject};
    this.shown = '';
    await vscode.commands.executeCommand('raydbg.stacks.focus');
    this.refresh();
  }

  /** Also those that run are asked where they are. */
  refresh(): void {
    const many = this.sessions.current;
    if (many) void this.ask(many, subjectIn(many, this.chosen));
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const listener of this.listeners) listener.dispose();
    this.rows.dispose();
  }

  private look(): void {
    if (this.rows.view.visible) this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.follow();
    }, coalesce);
  }

  /** Asks again, of those only that stand, if others stand than before. */
  private follow(): void {
    const many = this.sessions.current;
    if (!many) {
      this.shown = '';
      this.fill([], '');
      return;
    }
    const members = many.membersOf(subjectIn(many, this.chosen));
    const threadIds = members.filter((id) => many.states.isStopped(id));
    const now = `${many.session.id} ${threadIds.map((id) => `${id}:${many.stops(id)}`).join(' ')}`;
    if (now === this.shown || this.asking) return;
    this.shown = now;
    const running = members.length - threadIds.length;
    if (threadIds.length) void this.ask(many, {threadIds}, running);
    else this.fill(notAsked(running), '');
  }

  private async ask(many: ManySession, subject: Subject, running = 0): Promise<void> {
    this.asking = true;
    try {
      const stacks = await many.stacks(subject);
      this.fill(rowsOf(many, stacks, running), `${plural(stacks.tasks, 'task')}, ${plural(stacks.stacks, 'stack')}`);
    } catch (error) {
      this.fill([note('problem', textOf(error), 'warning')], '');
    }
    this.asking = false;
    this.look();
  }

  private fill(rows: StackRow[], text: string): void {
    this.rows.show(rows);
    const many = this.sessions.current;
    const group = many && subjectIn(many, this.chosen).group;
    (this.rows.view as {description: string | undefined}).description = [group, text].filter(Boolean).join(' · ');
  }
}

function note(id: string, text: string, icon: string): StackRow {
  return row<StackNode>(id, {kind: 'note', text, icon}, text);
}

function notAsked(running: number): StackRow[] {
  return running ? [note('not-asked', `${plural(running, 'task')} running: Refresh asks where`, 'sync')] : [];
}

/** `others` run, and were not asked. */
function rowsOf(many: ManySession, {tree, running, notShown}: Stacks, others: number): StackRow[] {
  const notes = [
    ...(running.length ? [note('running', `running when asked: ${running.map((id) => shortName(many.nameOf(id))).join(', ')}`, 'sync')] : []),
    ...notAsked(others),
    ...notShown.map(({threadId, name, why}) => note(`not-shown/${threadId}`, `${name}: ${why}`, 'warning')),
  ];
  return [...tree.map((run) => runRow(many, '', run)), ...notes];
}

/** Each frame below the one that called it. */
function runRow(many: ManySession, above: string, run: StackRun): StackRow {
  const {frames, threadIds} = run;
  let made: StackRow | undefined;
  for (let depth = frames.length - 1; depth >= 0; depth--) {
    const frame = frames[depth];
    if (!frame) continue;
    const id = `${above}/${frames.slice(0, depth + 1).map((one) => `${one.name}@${one.path ?? ''}:${one.line}`).join('/')}`;
    const last = depth === frames.length - 1;
    const text = last ? endText(many, run) : '';
    const children: StackRow[] = made ? [made] : run.children.map((child) => runRow(many, id, child));
    // A row that gets its first child would stay closed if it were the same one.
    made = row<StackNode>(children.length ? id : `${id}!`, {kind: 'frame', many, frame, threadIds, text, ends: last && run.ending > 0},
      `${frame.name} ${locationText(frame)} ${threadIds.length} ${text}`, children);
  }
  return made ?? note(`${above}/?`, run.tasks, 'question');
}

/** Whose stacks end with the run. */
function endText(many: ManySession, run: StackRun): string {
  if (!run.children.length) return run.tasks;
  return run.ending ? `${run.ending} here: ${endingHere(run).map((id) => shortName(many.nameOf(id))).join(', ')}` : '';
}

function draw(item: StackRow): vscode.TreeItem {
  const {data, children} = item;
  if (data.kind === 'note') {
    const made = new vscode.TreeItem(data.text);
    made.iconPath = new vscode.ThemeIcon(data.icon);
    made.tooltip = data.text;
    return made;
  }
  const {frame, threadIds, text, ends} = data;
  const made = new vscode.TreeItem(frame.name, children.length ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None);
  made.description = [locationText(frame), `× ${threadIds.length}`, text].filter(Boolean).join(' · ');
  made.tooltip = `${frame.name}\n${frame.path ?? ''}:${frame.line}\n${plural(threadIds.length, 'task')} ${text}`;
  made.iconPath = new vscode.ThemeIcon(ends ? 'debug-stackframe' : 'symbol-function');
  made.contextValue = ends ? 'stack end' : 'stack';
  made.accessibilityInformation = {label: `${frame.name} at ${locationText(frame)}, ${plural(threadIds.length, 'task')} ${text}`};
  if (frame.path !== null) made.command = {command: 'raydbg.openFrame', title: 'Open Source Line', arguments: [item]};
  return made;
}
