/** The commands of the palette and of the rows of paused tasks. */
import * as vscode from 'vscode';
import {addCluster, doctor, feedOf, forward, removeCluster, setToken, startRelay, trustCertificate} from './cluster/cluster-commands';
import {Clusters} from './cluster/clusters';
import {startAttach} from './session/configuration';
import {commandFix, showError, textOf} from './base/errors';
import {showInformation} from './base/messages';
import {Feeds} from './cluster/feeds';
import {Finder} from './program/finder';
import {attachAll, attachMatching, deleteGroup, groupFrame, manyHandlers} from './many/many-commands';
import {ManySessions} from './many/many-sessions';
import {Mappings} from './session/mappings';
import {groupings, pauseTask, pauseTitle} from './pauses/pause';
import {objectGroupings} from './objects/objects';
import {ObjectNode, ObjectsView} from './objects/objects-view';
import {PauseNode, PausesView} from './pauses/pauses-view';
import {Choice, pickTasks} from './pauses/pick';
import {Exit, errorText, run} from './base/program';
import {updateSetting} from './base/settings';
import {Roles} from './session/roles';
import {SessionNode, SessionsView} from './session/sessions-view';
import {StacksView} from './many/stacks-view';
import {TreemapPanel} from './objects/treemap-panel';
import {WhyDocuments} from './why/documents';
import {whyHandlers} from './why/why-commands';

export interface Parts {
  context: vscode.ExtensionContext;
  clusters: Clusters;
  feeds: Feeds;
  finder: Finder;
  view: PausesView;
  objects: ObjectsView;
  sessions: SessionsView;
  roles: Roles;
  many: ManySessions;
  stacks: StacksView;
  mappings: Mappings;
  documents: WhyDocuments;
  log: vscode.LogOutputChannel;
}

/** What VS Code gives a row's command. */
export type Target = {data: PauseNode} | undefined;
type Handler = (parts: Parts, target: Target) => unknown;

/** The row's pause, or the one that the user picks. */
async function chosen(parts: Parts, target: Target, what: string): Promise<Choice | undefined> {
  if (target?.data.kind === 'pause') return target.data;
  return (await pickTasks(parts.feeds, false, what))?.[0];
}

/** What is to be attached to may be older than the list: a notification's button stays. */
async function attach(parts: Parts, target: Target, extra: object): Promise<void> {
  const choice = await chosen(parts, target, 'Attach to');
  const now = choice && parts.feeds.current(choice);
  if (now && !parts.roles.saysOwn(now)) await startAttach(now, extra);
  if (choice && !now) void showInformation(`${pauseTitle(choice.pause)} is not paused any more.`);
}

const verbs = {release: 'Release', hold: 'Hold', continue: 'Continue'};

/** Runs `raydbg VERB TASK` and tells what it said if it failed. */
async function act(parts: Parts, target: Target, verb: keyof typeof verbs): Promise<void> {
  const choice = await chosen(parts, target, verbs[verb]);
  if (!choice) return;
  const {feed, pause} = choice;
  const program = await parts.feeds.program();
  const args = [verb, pauseTask(pause), ...feed.cluster.args];
  const result = await run(program.path, args, await feed.cluster.environment());
  parts.log.info(`raydbg ${args.join(' ')}: ${result.code ?? 'killed'} ${result.stdout.trim()} ${result.stderr.trim()}`);
  if (result.code === Exit.ok) return;
  const whose = {data: {kind: 'cluster', feed}};
  const fixes = result.code === Exit.denied ? [commandFix('Set Relay Token...', 'raydbg.setToken', whose)]
    : result.code === Exit.unreachable ? [commandFix('Start Relay', 'raydbg.startRelay', whose)] : [];
  await showError(`${pauseTitle(pause)}: ${errorText(result.stderr)}`, ...fixes);
}

async function filter(parts: Parts): Promise<void> {
  const text = await vscode.window.showInputBox({
    title: 'Filter paused tasks', value: parts.view.filter, prompt: 'Words that name, id, node, job, state or file must have. Empty: all.',
  });
  if (text !== undefined) parts.view.filter = text.trim();
}

/** Lets the user choose a setting's value. */
async function choose(setting: string, values: Record<string, string>, title: string): Promise<void> {
  const now = vscode.workspace.getConfiguration('raydbg').get<string>(setting);
  const items = Object.entries(values).map(([value, label]) => ({label, value, ...(value === now ? {description: 'now'} : {})}));
  const picked = await vscode.window.showQuickPick(items, {title});
  if (picked) await updateSetting(setting, picked.value);
}

async function treemap(parts: Parts): Promise<void> {
  const feed = await feedOf(parts, undefined);
  if (feed) TreemapPanel.open(parts.context, parts.feeds, parts.clusters, feed.cluster.name, (file, line) => parts.mappings.open(file, line));
}

function refresh(parts: Parts): void {
  if (parts.feeds.broken) void parts.feeds.retry();
  parts.finder.lost();
  for (const feed of parts.feeds.all) feed.restart();
  parts.objects.refresh();
  parts.sessions.refresh();
}

async function pickTask(parts: Parts): Promise<string | undefined> {
  const choice = (await pickTasks(parts.feeds, false))?.[0];
  return choice && pauseTask(choice.pause);
}

function openSource(parts: Parts, target: Target): unknown {
  const location = target?.data.kind === 'pause' ? target.data.pause.location : null;
  return location && parts.mappings.open(location.file, location.line);
}

const handlers: Record<string, Handler> = {
  attach: (parts, target) => attach(parts, target, {}),
  observe: (parts, target) => attach(parts, target, {role: 'observer'}),
  continue: (parts, target) => act(parts, target, 'continue'),
  release: (parts, target) => act(parts, target, 'release'),
  hold: (parts, target) => act(parts, target, 'hold'),
  openSource,
  groupBy: () => choose('groupBy', groupings, 'Group paused tasks by'),
  groupObjectsBy: () => choose('objects.groupBy', objectGroupings, 'Group references by'),
  attachAll: (parts, target) => attachAll(parts, target && {data: {kind: 'cluster', feed: target.data.feed}}),
  attachMatching, filter, pickTask, treemap, refresh, addCluster, removeCluster, forward, setToken, startRelay, trustCertificate, doctor,
  install: (parts) => parts.finder.install(),
  showLog: (parts) => parts.log.show(),
  walkthrough: () => vscode.commands.executeCommand('workbench.action.openWalkthrough', 'raydbg.raydbg#start'),
};

/** Called with what VS Code gives the command, which its menu in package.json says. */
type AnyHandler = (parts: Parts, target: never) => unknown;

/** Of rows, where they are others than those of the palette. */
const rowHandlers: Record<string, AnyHandler> = {
  attachAll, deleteGroup, groupFrame,
  copyId: (_, {data}: {data: PauseNode}) => data.kind === 'pause' && vscode.env.clipboard.writeText(pauseTask(data.pause)),
  revealCallSite: ({mappings}, {data: {site}}: {data: ObjectNode}) => site && mappings.open(site.file, site.line),
  takeOver: ({roles}, target: {data: SessionNode}) => roles.takeOver(target),
  observeSession: ({roles}, target: {data: SessionNode}) => roles.observe(target),
};

/** What a command rejects with is shown: it never gets as far as VS Code's own words for it. */
function shown(run: () => unknown): Promise<unknown> {
  return Promise.resolve().then(run).catch((error: unknown) => void showError(textOf(error)));
}

function register(id: string, run: (target: unknown) => unknown): vscode.Disposable {
  return vscode.commands.registerCommand(id, (target: unknown) => shown(() => run(target)));
}

/** Of the palette. */
const anywhere: [string, AnyHandler][] = [handlers, manyHandlers, whyHandlers].flatMap((some) => Object.entries<AnyHandler>(some));

/**
 * A click that comes while VS Code draws rows anew arrives without its row. To do then what the palette's command does
 * would be to do it to other tasks.
 */
function registerRow(parts: Parts, id: string): vscode.Disposable {
  const name = id.replace(/^raydbg\.row\./, '');
  const handler: AnyHandler | undefined = rowHandlers[name] ?? Object.fromEntries(anywhere)[name];
  if (!handler) throw new Error(`${id} is in package.json only`);
  return register(id, (target) => (target ? handler(parts, target as never)
    : showInformation('The rows changed at the moment of the click: nothing was done. Click again.')));
}

export function registerCommands(parts: Parts): vscode.Disposable[] {
  const manifest = parts.context.extension.packageJSON as {contributes: {menus: Record<string, {command: string}[]>}};
  const ofRows = new Set(manifest.contributes.menus['view/item/context']?.map(({command}) => command));
  return [
    ...anywhere.map(([name, handler]) => register(`raydbg.${name}`, (target) => handler(parts, target as never))),
    ...[...ofRows].map((id) => registerRow(parts, id)),
    register('raydbg.takeOver', () => parts.roles.takeOver()),
  ];
}
