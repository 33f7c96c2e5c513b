/** The view "Paused Tasks": cluster, job, function or actor class, pause. */
import * as vscode from 'vscode';
import {Feed} from '../cluster/feed';
import {viewState} from '../cluster/feed-state';
import {Feeds} from '../cluster/feeds';
import {PauseFilter, exactly, groupFilter} from './pause-filter';
import {GroupBy, Pause, PauseGroup, age, groupPauses, isAttached, isNear, matches, pauseDescription, pauseKey, pauseTitle, twinTitles} from './pause';
import {Choice} from './pick';
import {Row, row} from '../base/rows';
import {RowsView} from '../base/rows-view';
import {pauseLimit} from './watchdog';

export type PauseNode =
  | {kind: 'cluster'; feed: Feed}
  | {kind: 'group'; feed: Feed; label: string; count: number; filter: PauseFilter}
  | {kind: 'pause'; feed: Feed; pause: Pause; twin: boolean; own: boolean};
type PauseRow = Row<PauseNode>;

const icons: Record<Pause['state'], string> = {
  waiting: 'debug-pause', held: 'lock', attached: 'debug-alt', idle: 'circle-outline',
};

/** Changes within this time are one update: VS Code draws only after 200 ms without one. */
const coalesce = 300;
/** How often the ages are looked at. */
const tick = 5000;

interface Settings {
  by: GroupBy;
  limit: number;
  now: number;
  /** Some are not shown. */
  filtered: boolean;
  own: (choice: Choice) => boolean;
}

export class PausesView implements vscode.Disposable {
  /** More than two buttons would leave no room for the view's title. */
  private readonly rows = new RowsView<PauseNode>('raydbg.pauses', draw, false);
  private timer: NodeJS.Timeout | undefined;
  private readonly ticker: NodeJS.Timeout;
  private readonly listeners: vscode.Disposable[];
  private wanted = '';

  /** `own`: what this window debugs. */
  constructor(private readonly feeds: Feeds, private readonly own: {debugs(choice: Choice): boolean}) {
    this.ticker = setInterval(() => this.rows.view.visible && this.refresh(), tick);
    this.listeners = [
      this.rows.view.onDidChangeVisibility(() => this.refresh()),
      vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('raydbg') && this.refresh()),
    ];
  }

  get filter(): string {
    return this.wanted;
  }

  set filter(text: string) {
    this.wanted = text;
    this.refresh();
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearInterval(this.ticker);
    for (const listener of this.listeners) listener.dispose();
    this.rows.dispose();
  }

  refresh(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.update();
    }, coalesce);
  }

  private update(): void {
    const feeds = this.feeds.all;
    const configuration = vscode.workspace.getConfiguration('raydbg');
    const settings: Settings = {
      by: configuration.get<GroupBy>('groupBy', 'function'), limit: pauseLimit(), now: Date.now(), filtered: this.wanted !== '',
      own: (choice) => this.own.debugs(choice),
    };
    const clusters = feeds.map((feed) => clusterRow(feed, this.wanted, settings));
    const only = clusters.length === 1 ? clusters[0] : undefined;
    for (const child of only?.children ?? []) child.parent = undefined;
    this.rows.show(only ? only.children : clusters);
    this.tellState();
  }

  private tellState(): void {
    const {all: feeds, broken} = this.feeds;
    const count = feeds.reduce((sum, feed) => sum + feed.set.pauses.size, 0);
    const {view} = this.rows;
    if (vscode.workspace.isTrusted)
      void vscode.commands.executeCommand('setContext', 'raydbg.state', viewState(feeds.map(({told}) => told), broken));
    view.badge = count ? {value: count, tooltip: `${count} paused`} : undefined;
    const problem = feeds.length === 1 ? feeds[0]?.problem : undefined;
    const message = [this.wanted && `Filter: ${this.wanted}`, count ? problem : ''].filter(Boolean).join('\n');
    (view as {message: string | undefined}).message = message || undefined;
  }
}

function clusterRow(feed: Feed, filter: string, settings: Settings): PauseRow {
  const pauses = [...feed.set.pauses.values()].filter((pause) => !filter || matches(pause, filter));
  const id = feed.cluster.name;
  const face = [feed.state, feed.problem, pauses.length].join('\n');
  return row(id, {kind: 'cluster', feed}, face, levels(feed, id, pauses, settings));
}

/** A job is a level of its own if there are several. */
function levels(feed: Feed, id: string, pauses: Pause[], settings: Settings): PauseRow[] {
  if (settings.by === 'none') return pauseRows(feed, groupPauses(pauses, 'none')[0]?.pauses ?? [], settings);
  const jobs = groupPauses(pauses, 'job');
  if (settings.by !== 'function' || jobs.length < 2) return groupRows(feed, id, pauses, settings);
  return jobs.map((job) => {
    const filter = groupFilter('job', job);
    return groupRow(feed, `${id}/${job.key}`, job, settings, filter, groupRows(feed, `${id}/${job.key}`, job.pauses, settings, filter));
  });
}

/** `within` is what the level above has in common. */
function groupRows(feed: Feed, id: string, pauses: Pause[], settings: Settings, within: PauseFilter = {}): PauseRow[] {
  return groupPauses(pauses, settings.by).map((group) => groupRow(feed, `${id}/${settings.by}/${group.key}`, group, settings,
    {...within, ...groupFilter(settings.by, group)}, pauseRows(feed, group.pauses, settings)));
}

/** An attach to the group is to what is shown of it, and to what comes later unless a part of it is hidden. */
function groupRow(feed: Feed, id: string, {label, pauses}: PauseGroup, settings: Settings, filter: PauseFilter, children: PauseRow[]): PauseRow {
  const count = pauses.length;
  return row<PauseNode>(id, {kind: 'group', feed, label, count, filter: settings.filtered ? exactly(pauses) : filter}, `${label} ${count}`, children);
}

function pauseRows(feed: Feed, pauses: Pause[], settings: Settings): PauseRow[] {
  const twins = twinTitles(pauses);
  return pauses.map((pause) => {
    const twin = twins.has(pauseTitle(pause));
    const own = settings.own({feed, pause});
    const near = isNear(feed.set.standsSince(pause), settings.limit, settings.now);
    const face = [pauseTitle(pause), pauseDescription(pause, settings.now, twin), near, own, JSON.stringify(pause)].join('\n');
    return row<PauseNode>(`${feed.cluster.name}//${pauseKey(pause)}`, {kind: 'pause', feed, pause, twin, own}, face);
  });
}

function draw(item: PauseRow): vscode.TreeItem {
  const {data} = item;
  if (data.kind === 'cluster') return clusterItem(data.feed);
  if (data.kind === 'group') return groupItem(data.label, data.count);
  return pauseItem(item, data);
}

function clusterItem(feed: Feed): vscode.TreeItem {
  const item = new vscode.TreeItem(feed.cluster.name, vscode.TreeItemCollapsibleState.Expanded);
  const good = feed.state === 'live' || feed.state === 'starting';
  item.description = good ? `${feed.set.pauses.size} paused` : feed.state;
  item.tooltip = good ? feed.cluster.setting.relay ?? feed.cluster.setting.address ?? 'found on this machine' : feed.problem;
  item.iconPath = new vscode.ThemeIcon(good ? 'server' : 'warning');
  item.contextValue = feed.cluster.added ? 'cluster added' : 'cluster';
  return item;
}

function groupItem(label: string, count: number): vscode.TreeItem {
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded);
  item.description = `${count}`;
  item.contextValue = 'group';
  return item;
}

function pauseItem(node: PauseRow, {feed, pause, twin, own}: Extract<PauseNode, {kind: 'pause'}>): vscode.TreeItem {
  const now = Date.now();
  const item = new vscode.TreeItem(pauseTitle(pause));
  const old = isNear(feed.set.standsSince(pause), pauseLimit(), now);
  item.description = pauseDescription(pause, now, twin);
  item.tooltip = tooltip(pause, now, old);
  item.iconPath = new vscode.ThemeIcon(old ? 'warning' : icons[isAttached(pause) ? 'attached' : pause.state],
    new vscode.ThemeColor(old ? 'list.warningForeground' : 'debugIcon.pauseForeground'));
  item.contextValue = ['pause', own ? 'own' : isAttached(pause) ? 'taken' : 'free', pause.state, pause.location ? 'located' : '']
    .filter(Boolean).join(' ');
  item.accessibilityInformation = {label: `${pauseTitle(pause)}, ${pauseDescription(pause, now, twin)}`};
  if (pause.location) item.command = {command: 'raydbg.openSource', title: 'Open Source Line', arguments: [node]};
  return item;
}

function tooltip(pause: Pause, now: number, old: boolean): vscode.MarkdownString {
  const at = pause.location && `${pause.location.file}:${pause.location.line}`;
  const facts: [string, string | number | null | undefined][] = [
    ['task', pause.task_id], ['actor', pause.actor_id], ['job', pause.job_id], ['node', pause.node_ip], ['pid', pause.pid],
    ['state', pause.state], ['since', age(pause.since, now)], ['at', at], ['reason', pause.reason],
    ['driven by', pause.driver], ['clients', pause.clients],
  ];
  const text = new vscode.MarkdownString('', true);
  text.appendMarkdown('**').appendText(pauseTitle(pause)).appendMarkdown('**\n\n');
  for (const [name, value] of facts)
    if (value !== null && value !== undefined && value !== '') text.appendMarkdown(`${name} `).appendText(String(value)).appendMarkdown('  \n');
  if (pause.ambiguous) text.appendMarkdown('\nRay does not tell which of the running calls is paused: an attach shows it.');
  if (old) text.appendMarkdown('\n$(warning) Paused for long: time-outs of the program (collectives, health checks) are near.');
  return text;
}
