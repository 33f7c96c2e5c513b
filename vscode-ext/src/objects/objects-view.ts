/** The view "Object Store": each node's store, and the references by what they have in common. */
import * as vscode from 'vscode';
import {logError, textOf} from '../base/errors';
import {Cluster} from '../cluster/clusters';
import {Feed} from '../cluster/feed';
import {Feeds} from '../cluster/feeds';
import {CallSite, Memory, ObjectGroupBy, Reference, ReferenceGroup, StoreNode, bar, bytesText, callSite, groupLabel,
  objectGroupings, parseMemory, plural, portion, processText} from './objects';
import {Poller} from '../base/poller';
import {errorText, run} from '../base/program';
import {Row, row} from '../base/rows';
import {RowsView} from '../base/rows-view';

/** A row; `site` is where it was made. */
export interface ObjectNode {
  label: string;
  description: string;
  tooltip: string;
  icon: string;
  open: boolean | undefined;
  site?: CallSite | undefined;
}
type ObjectRow = Row<ObjectNode>;

/** So many references of a group are shown. */
const most = 100;

/** Milliseconds between two looks. */
export function objectsInterval(): number {
  return vscode.workspace.getConfiguration('raydbg').get('objects.refresh', 5) * 1000;
}

/** Rejects with what raydbg said. */
export async function readMemory(feeds: Feeds, cluster: Cluster, by: ObjectGroupBy): Promise<Memory> {
  const program = await feeds.program();
  const args = ['memory', '--format', 'json', '--group-by', by, ...cluster.args];
  const result = await run(program.path, args, await cluster.environment());
  if (result.code !== 0) throw new Error(errorText(result.stderr) || `raydbg ended with ${result.code ?? 'a signal'}`);
  return parseMemory(result.stdout);
}

export class ObjectsView implements vscode.Disposable {
  private readonly rows = new RowsView<ObjectNode>('raydbg.objects', draw);
  private readonly poller: Poller;
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly feeds: Feeds) {
    const {view} = this.rows;
    this.poller = new Poller(() => this.ask(), objectsInterval, logError);
    this.listeners = [
      view.onDidChangeVisibility(() => (this.poller.looking = view.visible)),
      vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('raydbg.objects') && this.poller.now()),
    ];
    this.poller.looking = view.visible;
  }

  refresh(): void {
    this.poller.now();
  }

  dispose(): void {
    this.poller.looking = false;
    for (const listener of this.listeners) listener.dispose();
    this.rows.dispose();
  }

  private async ask(): Promise<void> {
    const by = vscode.workspace.getConfiguration('raydbg').get<ObjectGroupBy>('objects.groupBy', 'call-site');
    const live = this.feeds.all.filter((feed) => feed.state === 'live' || feed.state === 'away');
    const parts = await Promise.all(live.map((feed) => this.part(feed, by)));
    this.rows.show(parts.length === 1 ? parts[0]?.children ?? [] : parts);
    await vscode.commands.executeCommand('setContext', 'raydbg.objects.state', parts.length ? 'some' : 'none');
  }

  private async part(feed: Feed, by: ObjectGroupBy): Promise<ObjectRow> {
    const {name} = feed.cluster;
    try {
      const memory = await readMemory(this.feeds, feed.cluster, by);
      const children = [nodesRow(name, memory), groupsRow(name, memory, by)];
      return make(name, {label: name, description: '', tooltip: name, icon: 'server', open: true}, children);
    } catch (error) {
      const text = textOf(error);
      const problem = make(`${name}/!`, {label: text, description: '', tooltip: text, icon: 'warning', open: undefined});
      return make(name, {label: name, description: '', tooltip: text, icon: 'warning', open: true}, [problem]);
    }
  }
}

function make(id: string, node: ObjectNode, children: ObjectRow[] = []): ObjectRow {
  return row(id, node, JSON.stringify(node), children);
}

function nodesRow(id: string, memory: Memory): ObjectRow {
  const nodes = memory.nodes.map((node, index) => nodeRow(`${id}/nodes/${node.node_id ?? index}`, node));
  const used = memory.nodes.reduce((sum, node) => sum + node.store.used, 0);
  return make(`${id}/nodes`, {label: 'Nodes', description: `${bytesText(used)} used`, tooltip: 'The object store of each node',
    icon: 'server-environment', open: true}, nodes);
}

function nodeRow(id: string, node: StoreNode): ObjectRow {
  const {used, capacity, spilled_bytes, objects} = node.store;
  const spilled = spilled_bytes ? ` · spilled ${bytesText(spilled_bytes)}` : '';
  const facts = portion(used, capacity);
  return make(id, {
    label: node.ip, description: node.problem ?? `${bar(used, capacity)} ${facts}${spilled}`,
    tooltip: node.problem ?? `${node.ip}: ${facts} used, ${bytesText(capacity - used)} available, ${bytesText(spilled_bytes)} spilled, ${plural(objects, 'object')}`,
    icon: node.problem ? 'warning' : 'server', open: undefined,
  });
}

function groupsRow(id: string, memory: Memory, by: ObjectGroupBy): ObjectRow {
  const groups = memory.groups.map((group) => groupRow(`${id}/${by}/${group.key}`, memory, group, by));
  return make(`${id}/groups`, {label: `References by ${objectGroupings[by]}`, description: plural(memory.rows.length, 'reference'),
    tooltip: 'Largest first', icon: 'references', open: true}, groups);
}

function groupRow(id: string, memory: Memory, group: ReferenceGroup, by: ObjectGroupBy): ObjectRow {
  const shown = group.rows.slice(0, most).flatMap((index, position) => {
    const reference = memory.rows[index];
    return reference ? [referenceRow(`${id}/${position}/${reference.object_ref}`, memory, reference)] : [];
  });
  const more = group.rows.length - shown.length;
  const rest = more > 0 ? [make(`${id}/more`, {label: `${more} more`, description: '', tooltip: '', icon: 'ellipsis', open: undefined})] : [];
  return make(id, {
    label: bytesText(group.bytes), description: `${groupLabel(group.key, by)} · ${plural(group.references, 'ref')}`,
    tooltip: `${group.key}\n${bytesText(group.bytes)} in ${plural(group.objects, 'object')}`, icon: 'symbol-array', open: false,
    site: by === 'call-site' ? callSite(group.key) : undefined,
  }, [...shown, ...rest]);
}

function referenceRow(id: string, memory: Memory, reference: Reference): ObjectRow {
  const site = reference.call_site === null ? '' : memory.call_sites[reference.call_site] ?? '';
  const holder = processText(memory.processes[reference.process]);
  const owner = reference.owner === null ? 'unknown' : processText(memory.processes[reference.owner]);
  const status = reference.task_status && reference.task_status !== 'FINISHED' ? ` · ${reference.task_status}` : '';
  return make(id, {
    label: bytesText(reference.size), description: `${holder} · ${reference.reference_type}${status}`, icon: 'symbol-reference', open: undefined,
    tooltip: [`ObjectRef(${reference.object_ref})`, `held by ${holder}`, `owned by ${owner}`, reference.reference_type,
      site && `made at ${site}`].filter(Boolean).join('\n'),
    site: callSite(site),
  });
}

function draw({data}: ObjectRow): vscode.TreeItem {
  const {None, Collapsed, Expanded} = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(data.label, data.open === undefined ? None : data.open ? Expanded : Collapsed);
  item.description = data.description;
  item.tooltip = data.tooltip;
  item.iconPath = new vscode.ThemeIcon(data.icon);
  item.accessibilityInformation = {label: `${data.label}, ${data.description.replace(/[▰▱]+ /, '')}`};
  item.contextValue = data.site ? 'objects site' : 'objects';
  return item;
}
