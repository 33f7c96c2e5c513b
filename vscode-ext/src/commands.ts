/** The commands of the palette and of the rows of paused tasks. */
import * as vscode from 'vscode';
import {addCluster, doctor, feedOf, forward, removeCluster, setToken, startRelay, trustCertificate} from './cluster-commands';
import {Clusters} from './clusters';
import {startAttach} from './configuration';
import {commandFix, showError, textOf} from './errors';
import {Feeds} from './feeds';
import {attachAll, attachMatching, manyHandlers} from './many-commands';
import {ManySessions} from './many-sessions';
import {Mappings} from './mappings';
import {groupings, pauseTask, pauseTitle} from './pause';
import {objectGroupings} from './objects';
import {ObjectNode, ObjectsView} from './objects-view';
import {PauseNode, PausesView} from './pauses-view';
import {Choice, pickTasks} from './pick';
import {Exit, errorText, run} from './program';
import {Roles} from './roles';
import {SessionNode, SessionsView} from './sessions-view';
import {StacksView} from './stacks-view';
import {TreemapPanel} from './treemap-panel';

export interface Parts {
  context: vscode.ExtensionContext;
  clusters: Clusters;
  feeds: Feeds;
  view: PausesView;
  objects: ObjectsView;
  sessions: SessionsView;
  roles: Roles;
  many: ManySessions;
  stacks: StacksView;
  mappings: Mappings;
  log: vscode.LogOutputChannel;
}

/** What VS Code gives a row's command. */
export type Target = {data: PauseNode} | undefined;
type Handler = (parts: Parts, target: Target) => unknown;

/** The row's pause, or the one that the user picks. */
async function chosen(parts: Parts, target: Target): Promise<Choice | undefined> {
  if (target?.data.kind === 'pause') return target.data;
  return (await pickTasks(parts.feeds, false))?.[0];
}

async function attach(parts: Parts, target: Target, extra: object): Promise<void> {
  const choice = await chosen(parts, target);
  if (choice) await startAttach(choice, extra);
}

/** Runs `raydbg VERB TASK` and tells what it said if it failed. */
async function act(parts: Parts, target: Target, verb: 'release' | 'hold' | 'continue'): Promise<void> {
  const choice = await chosen(parts, target);
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
  const configuration = vscode.workspace.getConfiguration('raydbg');
  const now = configuration.get<string>(setting);
  const items = Object.entries(values).map(([value, label]) => ({label, value, ...(value === now ? {description: 'now'} : {})}));
  const picked = await vscode.window.showQuickPick(items, {title});
  if (picked) await configuration.update(setting, picked.value, vscode.ConfigurationTarget.Global);
}

async function treemap(parts: Parts): Promise<void> {
  const feed = await feedOf(parts, undefined);
  if (feed) TreemapPanel.open(parts.context, parts.feeds, feed, (file, line) => parts.mappings.open(file, line));
}

function refresh(parts: Parts): void {
  if (parts.feeds.broken) void parts.feeds.restart();
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
  copyId: (_, target) => target?.data.kind === 'pause' && vscode.env.clipboard.writeText(pauseTask(target.data.pause)),
  groupBy: () => choose('groupBy', groupings, 'Group paused tasks by'),
  groupObjectsBy: () => choose('objects.groupBy', objectGroupings, 'Group references by'),
  attachAll, attachMatching, filter, pickTask, treemap, refresh, addCluster, forward, removeCluster, setToken, startRelay, trustCertificate, doctor,
  showLog: (parts) => parts.log.show(),
  walkthrough: () => vscode.commands.executeCommand('workbench.action.openWalkthrough', 'raydbg.raydbg#start'),
};

/** What a command rejects with is shown: it never gets as far as VS Code's own words for it. */
function shown(run: () => unknown): Promise<unknown> {
  return Promise.resolve().then(run).catch((error: unknown) => void showError(textOf(error)));
}

export function registerCommands(parts: Parts): vscode.Disposable[] {
  const {registerCommand} = vscode.commands;
  return [
    ...Object.entries(handlers).map(([name, handler]) => registerCommand(`raydbg.${name}`, (target?: Target) => shown(() => handler(parts, target)))),
    ...Object.entries(manyHandlers).map(([name, handler]) =>
      registerCommand(`raydbg.${name}`, (target?: Parameters<typeof handler>[1]) => shown(() => handler(parts, target)))),
    registerCommand('raydbg.revealCallSite', ({data: {site}}: {data: ObjectNode}) => site && parts.mappings.open(site.file, site.line)),
    registerCommand('raydbg.takeOver', (target?: {data: SessionNode}) => parts.roles.takeOver(target)),
    registerCommand('raydbg.observeSession', (target?: {data: SessionNode}) => parts.roles.observe(target)),
  ];
}
