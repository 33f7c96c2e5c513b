/** The commands of the palette and of the views' rows. */
import * as vscode from 'vscode';
import {ClusterSetting, Clusters} from './cluster';
import {Choice, ConfigurationProvider, attachConfiguration, pickTasks} from './configuration';
import {Feeds} from './feeds';
import {GroupBy, pauseTask, pauseTitle} from './pause';
import {PauseNode, PausesView} from './pausesView';
import {Exit, errorText, run} from './program';
import {openSource} from './source';

export interface Parts {
  clusters: Clusters;
  feeds: Feeds;
  view: PausesView;
  provider: ConfigurationProvider;
  log: vscode.LogOutputChannel;
}

type Handler = (parts: Parts, node?: PauseNode) => unknown;

function isPause(node: PauseNode | undefined): node is Extract<PauseNode, {kind: 'pause'}> {
  return node?.kind === 'pause';
}

/** The row's pause, or the one that the user picks. */
async function chosen(parts: Parts, node: PauseNode | undefined): Promise<Choice | undefined> {
  if (isPause(node)) return node;
  return (await pickTasks(parts.feeds, false, parts.feeds.onDidChange))?.[0];
}

async function attach(parts: Parts, node: PauseNode | undefined, extra: object): Promise<void> {
  const choice = await chosen(parts, node);
  if (choice) await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], {...attachConfiguration(choice), ...extra});
}

/** Runs `raydbg VERB TASK` and tells what it said if it failed. */
async function act(parts: Parts, node: PauseNode | undefined, verb: 'release' | 'hold' | 'continue'): Promise<void> {
  const choice = await chosen(parts, node);
  if (!choice) return;
  const {feed, pause} = choice;
  const program = await parts.feeds.program();
  const args = [verb, pauseTask(pause), ...feed.cluster.args];
  const result = await run(program.path, args, await feed.cluster.environment());
  parts.log.info(`raydbg ${args.join(' ')}: ${result.code} ${result.stdout.trim()} ${result.stderr.trim()}`);
  if (result.code === Exit.ok) return;
  const fix = result.code === Exit.denied ? 'Set Relay Token...' : result.code === Exit.unreachable ? 'Start Relay' : undefined;
  const answer = await vscode.window.showErrorMessage(`${pauseTitle(pause)}: ${errorText(result.stderr)}`, ...(fix ? [fix] : []), 'Show Log');
  if (answer === 'Show Log') parts.log.show();
  if (answer === 'Set Relay Token...') await setToken(parts, {kind: 'cluster', feed});
  if (answer === 'Start Relay') await startRelay(parts);
}

async function setToken(parts: Parts, node: PauseNode | undefined): Promise<void> {
  const feed = node?.feed ?? await pickFeed(parts);
  if (!feed) return;
  const token = await vscode.window.showInputBox({
    title: `Token of the relay of ${feed.cluster.name}`, password: true, ignoreFocusOut: true,
    prompt: 'On the relay\'s machine: ~/.local/state/raydbg/token. It is kept in the secret storage. Empty: forget it.',
  });
  if (token === undefined) return;
  await feed.cluster.setToken(token.trim());
  feed.restart();
}

async function pickFeed(parts: Parts): Promise<Feeds['all'][number] | undefined> {
  if (parts.feeds.all.length <= 1) return parts.feeds.all[0];
  const items = parts.feeds.all.map((feed) => ({label: feed.cluster.name, feed}));
  return (await vscode.window.showQuickPick(items, {title: 'Which cluster?'}))?.feed;
}

async function startRelay(parts: Parts): Promise<void> {
  const feed = await pickFeed(parts);
  if (!feed) return;
  const program = await parts.feeds.program();
  const address = feed.cluster.setting.address;
  const execution = new vscode.ProcessExecution(program.path, ['relay', ...(address ? ['--address', address] : [])]);
  const task = new vscode.Task({type: 'raydbg'}, vscode.TaskScope.Workspace, 'relay', 'raydbg', execution);
  task.isBackground = true;
  task.presentationOptions = {reveal: vscode.TaskRevealKind.Silent, panel: vscode.TaskPanelKind.Dedicated};
  await vscode.tasks.executeTask(task);
}

async function addCluster(parts: Parts): Promise<void> {
  const where = await vscode.window.showInputBox({
    title: 'Add a Ray cluster', ignoreFocusOut: true,
    prompt: 'HOST:PORT of its GCS, http://HOST:8265 of its dashboard, or relay https://HOST:4713',
    validateInput: (text) => text.trim() ? undefined : 'An address is needed',
  });
  if (!where) return;
  const name = await vscode.window.showInputBox({title: 'What shall it be called?', value: where.trim(), ignoreFocusOut: true});
  if (!name) return;
  await parts.clusters.add(clusterSetting(name.trim(), where.trim()));
}

/** A relay's address is one with https:// or unix:, or one that says so. */
export function clusterSetting(name: string, where: string): ClusterSetting {
  const relay = /^relay\s+/.exec(where);
  const address = relay ? where.slice(relay[0].length) : where;
  return relay || /^(https:\/\/|unix:)/.test(address) ? {name, relay: address} : {name, address};
}

async function filter(parts: Parts): Promise<void> {
  const text = await vscode.window.showInputBox({
    title: 'Filter paused tasks', value: parts.view.filter, prompt: 'Words that name, id, node, job, state or file must have. Empty: all.',
  });
  if (text === undefined) return;
  parts.view.filter = text.trim();
  parts.view.refresh();
}

const groupings: Record<GroupBy, string> = {
  function: 'Function or actor class', job: 'Job', node: 'Node', state: 'State', none: 'Not at all',
};

async function groupBy(parts: Parts): Promise<void> {
  const items = Object.entries(groupings).map(([value, label]) => ({label, value}));
  const picked = await vscode.window.showQuickPick(items, {title: 'Group paused tasks by'});
  if (!picked) return;
  await vscode.workspace.getConfiguration('raydbg').update('groupBy', picked.value, vscode.ConfigurationTarget.Global);
  parts.view.refresh();
}

async function pickTask(parts: Parts): Promise<string | undefined> {
  const choice = (await pickTasks(parts.feeds, false, parts.feeds.onDidChange))?.[0];
  return choice && pauseTask(choice.pause);
}

const handlers: Record<string, Handler> = {
  attach: (parts, node) => attach(parts, node, {}),
  observe: (parts, node) => attach(parts, node, {role: 'observer'}),
  continue: (parts, node) => act(parts, node, 'continue'),
  release: (parts, node) => act(parts, node, 'release'),
  hold: (parts, node) => act(parts, node, 'hold'),
  openSource: (_, node) => isPause(node) && node.pause.location && openSource(node.pause.location.file, node.pause.location.line),
  copyId: (_, node) => isPause(node) && vscode.env.clipboard.writeText(pauseTask(node.pause)),
  filter, groupBy, addCluster, setToken, startRelay, pickTask,
  refresh: (parts) => parts.feeds.all.forEach((feed) => feed.restart()),
  removeCluster: (parts, node) => node && parts.clusters.remove(node.feed.cluster.name),
  showLog: (parts) => parts.log.show(),
  walkthrough: () => vscode.commands.executeCommand('workbench.action.openWalkthrough', 'raydbg.raydbg#start'),
};

export function registerCommands(parts: Parts): vscode.Disposable[] {
  return Object.entries(handlers).map(([name, handler]) =>
    vscode.commands.registerCommand(`raydbg.${name}`, (node?: PauseNode) => handler(parts, node)));
}
