/** The view "Groups": the groups of a session over many tasks, who is in them and where, and the barrier that is under way. */
import * as vscode from 'vscode';
import {Barrier, Group, barrierText, groupRowIds, groupText, locationText, splitName} from './many';
import {ManySession, ManySessions} from './many-sessions';
import {Row, row} from '../base/rows';
import {RowsView} from '../base/rows-view';
import {textOf} from '../base/errors';

export type GroupNode =
  | {kind: 'group'; many: ManySession; group: Group}
  | {kind: 'task'; many: ManySession; id: number}
  | {kind: 'barrier'; many: ManySession; barrier: Barrier}
  | {kind: 'absent'; name: string; what: string; gone: boolean};
type GroupRow = Row<GroupNode>;

/** Changes within this time are one update. */
const coalesce = 200;
/** A larger group is closed at first. */
const fewTasks = 40;

export class GroupsView implements vscode.Disposable {
  private readonly rows = new RowsView<GroupNode>('raydbg.groups', draw);
  private timer: NodeJS.Timeout | undefined;
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly sessions: ManySessions, private readonly log: vscode.LogOutputChannel) {
    this.listeners = [sessions.onDidChange(() => this.refresh()), this.rows.view.onDidChangeVisibility(() => this.refresh())];
  }

  refresh(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.update();
    }, coalesce);
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const listener of this.listeners) listener.dispose();
    this.rows.dispose();
  }

  private update(): void {
    const many = this.sessions.current;
    this.rows.show(many ? rowsOf(many) : []);
    const {view} = this.rows;
    (view as {description: string | undefined}).description = many?.session.name;
    if (many && view.visible) many.locate().catch((error: unknown) => this.log.debug(`${many.session.name}: ${textOf(error)}`));
  }
}

function rowsOf(many: ManySession): GroupRow[] {
  return [...(many.barrier ? [barrierRow(many, many.barrier)] : []), ...many.groups.map((group) => groupRow(many, group))];
}

function barrierRow(many: ManySession, barrier: Barrier): GroupRow {
  const id = groupRowIds.barrier(many.session.id);
  const absent = (gone: boolean, all: Barrier['missing']): GroupRow[] => all.map(({threadId, name, what}) =>
    row<GroupNode>(`${id}/${threadId}`, {kind: 'absent', name, what, gone}, `${name} ${what} ${gone}`));
  // A row that gets its first child would stay closed if it were the same one.
  const named = barrier.missing.length + barrier.gone.length > 0;
  return row<GroupNode>(named ? id : `${id}!`, {kind: 'barrier', many, barrier}, `${barrier.place} ${barrier.state ?? ''} ${barrierText(barrier)}`,
    [...absent(false, barrier.missing), ...absent(true, barrier.gone)]);
}

function groupRow(many: ManySession, group: Group): GroupRow {
  const {session} = many;
  return row<GroupNode>(groupRowIds.group(session.id, group.name), {kind: 'group', many, group}, `${group.filters} ${groupText(group.threadIds.length, stoppedOf(many, group))}`,
    group.threadIds.map((thread) => taskRow(many, groupRowIds.task(session.id, group.name, thread), thread)));
}

function taskRow(many: ManySession, rowId: string, id: number): GroupRow {
  return row<GroupNode>(rowId, {kind: 'task', many, id}, `${many.nameOf(id)} ${stateText(many, id)}`);
}

function stoppedOf({states}: ManySession, {threadIds}: Group): number {
  return threadIds.filter((id) => states.isStopped(id)).length;
}

/** It stands at the barrier, which its editor is told of when the last has come. */
function isHeld({barrier}: ManySession, id: number): boolean {
  return barrier?.state === 'waiting' && barrier.arrived.includes(id);
}

function stateText(many: ManySession, id: number): string {
  if (isHeld(many, id)) return `at the barrier ${many.barrier?.place ?? ''}`;
  if (!many.states.isStopped(id)) return 'running';
  const frame = many.frameOf(id);
  return frame ? `${locationText(frame)} ${frame.name}` : 'stopped';
}

// --- rows ---

const {None, Collapsed, Expanded} = vscode.TreeItemCollapsibleState;

function draw(item: GroupRow): vscode.TreeItem {
  const {data} = item;
  if (data.kind === 'group') return groupItem(data.many, data.group);
  if (data.kind === 'task') return taskItem(item, data.many, data.id);
  if (data.kind === 'barrier') return barrierItem(data.barrier);
  const [label, rest] = splitName(data.name);
  const made = new vscode.TreeItem(label);
  made.description = `${data.what} · ${rest}`;
  made.tooltip = `${data.name}\n${data.what}`;
  made.iconPath = new vscode.ThemeIcon(data.gone ? 'circle-slash' : 'watch');
  return made;
}

function groupItem(many: ManySession, group: Group): vscode.TreeItem {
  const count = group.threadIds.length;
  const text = groupText(count, stoppedOf(many, group));
  const made = new vscode.TreeItem(group.name, !count ? None : count <= fewTasks && group.name === 'all' ? Expanded : Collapsed);
  made.description = group.name === 'all' ? text : `${text} · ${group.filters}`;
  made.tooltip = `${group.name}: ${text}\n${group.filters}`;
  made.iconPath = new vscode.ThemeIcon('organization');
  made.contextValue = group.name === 'all' ? 'tasks all' : 'tasks own';
  made.accessibilityInformation = {label: `group ${group.name}, ${text}`};
  return made;
}

function taskItem(node: GroupRow, many: ManySession, id: number): vscode.TreeItem {
  const name = many.nameOf(id);
  const state = stateText(many, id);
  const stopped = many.states.isStopped(id);
  const icon = isHeld(many, id) ? 'milestone' : 'sync';
  const [label, rest] = splitName(name);
  const made = new vscode.TreeItem(label);
  made.description = `${state} · ${rest}`;
  made.tooltip = `${name}\n${state}\nthread ${id}`;
  made.iconPath = stopped ? new vscode.ThemeIcon('debug-pause', new vscode.ThemeColor('debugIcon.pauseForeground')) : new vscode.ThemeIcon(icon);
  made.contextValue = stopped ? 'task stopped' : 'task running';
  made.accessibilityInformation = {label: `${name}, ${state}`};
  if (stopped) made.command = {command: 'raydbg.focusTask', title: 'Show Task', arguments: [node]};
  return made;
}

const barrierIcons: Record<NonNullable<Barrier['state']>, string> = {
  waiting: 'sync~spin', complete: 'pass', timeout: 'warning', cancelled: 'circle-slash',
};

function barrierItem(barrier: Barrier): vscode.TreeItem {
  const {state = 'waiting', place} = barrier;
  const text = barrierText(barrier);
  const made = new vscode.TreeItem(`Barrier ${place}`, barrier.missing.length + barrier.gone.length ? Expanded : None);
  made.description = state === 'waiting' ? text : state === 'complete' ? `${text} · all here` : `${text} · ${state === 'timeout' ? 'timed out' : 'given up'}`;
  made.iconPath = new vscode.ThemeIcon(barrierIcons[state]);
  made.contextValue = state === 'waiting' ? 'barrier waiting' : 'barrier';
  made.accessibilityInformation = {label: `barrier ${place}, ${made.description}`};
  return made;
}
