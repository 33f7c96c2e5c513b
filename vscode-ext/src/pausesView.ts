/** The view "Paused Tasks": cluster, group, pause. */
import * as vscode from 'vscode';
import {Feed} from './feed';
import {GroupBy, Pause, PauseGroup, age, groupPauses, pauseDescription, pauseKey, pauseTitle} from './pause';

export type PauseNode =
  | {kind: 'cluster'; feed: Feed}
  | {kind: 'group'; feed: Feed; group: PauseGroup}
  | {kind: 'pause'; feed: Feed; pause: Pause};

const icons: Record<Pause['state'], string> = {
  waiting: 'debug-pause', held: 'lock', attached: 'debug-alt', idle: 'circle-outline',
};

/** Changes within this time are one update of the view. */
const coalesce = 100;

export class PausesView implements vscode.TreeDataProvider<PauseNode>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<PauseNode | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<PauseNode>;
  filter = '';
  private timer: NodeJS.Timeout | undefined;
  private readonly nodes = new Map<string, PauseNode>();
  private readonly ticker: NodeJS.Timeout;

  constructor(private readonly feeds: () => readonly Feed[]) {
    this.view = vscode.window.createTreeView('raydbg.pauses', {treeDataProvider: this, showCollapseAll: true});
    this.ticker = setInterval(() => this.view.visible && this.changed.fire(undefined), 10_000); // ages
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearInterval(this.ticker);
    this.view.dispose();
    this.changed.dispose();
  }

  refresh(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.tellState();
      this.changed.fire(undefined);
    }, coalesce);
  }

  get pauses(): {feed: Feed; pause: Pause}[] {
    return this.feeds().flatMap((feed) => [...feed.set.pauses.values()].map((pause) => ({feed, pause})));
  }

  getChildren(node?: PauseNode): PauseNode[] {
    const feeds = this.feeds();
    if (!node) return feeds.length === 1 && feeds[0] ? this.below(feeds[0]) : feeds.map((feed) => this.keep({kind: 'cluster', feed}));
    if (node.kind === 'cluster') return this.below(node.feed);
    if (node.kind === 'group') return node.group.pauses.map((pause) => this.keep({kind: 'pause', feed: node.feed, pause}));
    return [];
  }

  getTreeItem(node: PauseNode): vscode.TreeItem {
    if (node.kind === 'cluster') return clusterItem(node.feed);
    if (node.kind === 'group') return groupItem(node.feed, node.group);
    return pauseItem(node.feed, node.pause);
  }

  getParent(node: PauseNode): PauseNode | undefined {
    if (node.kind === 'cluster') return undefined;
    return this.feeds().length > 1 ? this.keep({kind: 'cluster', feed: node.feed}) : undefined;
  }

  private below(feed: Feed): PauseNode[] {
    const by = vscode.workspace.getConfiguration('raydbg').get<GroupBy>('groupBy', 'function');
    const groups = groupPauses(feed.set.pauses.values(), by, this.filter);
    if (by === 'none') return groups.flatMap((group) => group.pauses).map((pause) => this.keep({kind: 'pause', feed, pause}));
    return groups.map((group) => this.keep({kind: 'group', feed, group}));
  }

  /** The same object for the same row, so that VS Code keeps what is expanded and selected. */
  private keep(node: PauseNode): PauseNode {
    const key = node.kind === 'cluster' ? node.feed.cluster.name
      : node.kind === 'group' ? `${node.feed.cluster.name}/${node.group.key}`
      : `${node.feed.cluster.name}//${pauseKey(node.pause)}`;
    const known = this.nodes.get(key);
    if (!known || known.kind !== node.kind) {
      this.nodes.set(key, node);
      return node;
    }
    return Object.assign(known, node);
  }

  private tellState(): void {
    const pauses = this.pauses;
    const feeds = this.feeds();
    const waiting = pauses.length;
    const state = waiting || feeds.length > 1 ? 'some' : feeds.some((feed) => feed.state === 'live') ? 'empty' : 'none';
    void vscode.commands.executeCommand('setContext', 'raydbg.state', state);
    this.view.badge = waiting ? {value: waiting, tooltip: `${waiting} paused`} : undefined;
    this.view.message = this.message(feeds);
  }

  private message(feeds: readonly Feed[]): string | undefined {
    if (this.filter) return `Filter: ${this.filter}`;
    const bad = feeds.filter((feed) => feed.cluster.added && feed.state !== 'live' && feed.state !== 'starting');
    return feeds.length === 1 && bad[0] ? bad[0].problem : undefined;
  }
}

function clusterItem(feed: Feed): vscode.TreeItem {
  const item = new vscode.TreeItem(feed.cluster.name, vscode.TreeItemCollapsibleState.Expanded);
  const good = feed.state === 'live' || feed.state === 'starting';
  item.id = feed.cluster.name;
  item.description = good ? `${feed.set.pauses.size} paused` : feed.state;
  item.tooltip = good ? feed.cluster.setting.relay ?? feed.cluster.setting.address ?? 'found on this machine' : feed.problem;
  item.iconPath = new vscode.ThemeIcon(good ? 'server' : 'warning');
  item.contextValue = feed.cluster.added ? 'cluster added' : 'cluster';
  return item;
}

function groupItem(feed: Feed, group: PauseGroup): vscode.TreeItem {
  const item = new vscode.TreeItem(group.label, vscode.TreeItemCollapsibleState.Expanded);
  item.id = `${feed.cluster.name}/${group.key}`;
  item.description = `${group.pauses.length}`;
  item.contextValue = 'group';
  return item;
}

function pauseItem(feed: Feed, pause: Pause): vscode.TreeItem {
  const now = Date.now();
  const item = new vscode.TreeItem(pauseTitle(pause));
  const warn = vscode.workspace.getConfiguration('raydbg').get('pauseWarning', 600);
  const old = warn > 0 && pause.since !== null && now - Date.parse(pause.since) > warn * 1000;
  item.id = `${feed.cluster.name}//${pauseKey(pause)}`;
  item.description = pauseDescription(pause, now);
  item.tooltip = tooltip(pause, now, old);
  item.iconPath = new vscode.ThemeIcon(old ? 'warning' : icons[pause.state],
    new vscode.ThemeColor(old ? 'list.warningForeground' : 'debugIcon.pauseForeground'));
  item.contextValue = ['pause', pause.clients === null ? '' : 'relay', pause.state, pause.location ? 'located' : '']
    .filter(Boolean).join(' ');
  item.accessibilityInformation = {label: `${pauseTitle(pause)}, ${pauseDescription(pause, now)}`};
  if (pause.location) item.command = {command: 'raydbg.openSource', title: 'Open Source Line', arguments: [{kind: 'pause', feed, pause}]};
  return item;
}

function tooltip(pause: Pause, now: number, old: boolean): vscode.MarkdownString {
  const rows: [string, string | number | null | undefined][] = [
    ['task', pause.task_id], ['actor', pause.actor_id], ['job', pause.job_id], ['node', pause.node_ip], ['pid', pause.pid],
    ['state', pause.state], ['since', age(pause.since, now)], ['at', pause.location && `${pause.location.file}:${pause.location.line}`],
    ['reason', pause.reason], ['driven by', pause.driver], ['clients', pause.clients],
  ];
  const text = new vscode.MarkdownString();
  text.appendMarkdown(`**`).appendText(pauseTitle(pause)).appendMarkdown(`**\n\n`);
  for (const [name, value] of rows) if (value) text.appendMarkdown(`${name} `).appendText(String(value)).appendMarkdown('  \n');
  if (pause.ambiguous) text.appendMarkdown('\nRay does not tell which of the running calls is paused: an attach shows it.');
  if (old) text.appendMarkdown('\n$(warning) Paused for long: health checks and collectives of the program may time out.');
  text.supportThemeIcons = true;
  return text;
}
