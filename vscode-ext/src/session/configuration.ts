/** Debug configurations: what F5 does, what launch.json offers, what an attach needs added. */
import * as vscode from 'vscode';
import {Cluster, Clusters} from '../cluster/clusters';
import {commandFix, showError} from '../base/errors';
import {showInformation} from '../base/messages';
import {Mappings} from './mappings';
import {Feed} from '../cluster/feed';
import {pauseTask, pauseTitle, sessionName, twinTitles} from '../pauses/pause';
import {PauseFilter, exactTask, filterOf, filterTest, isMany} from '../pauses/pause-filter';
import {mayFocus} from './focus';
import {plainRun} from './plain-run';
import {runTask} from '../base/task';
import {Choice, OtherItem, Pauses, pickTasks} from '../pauses/pick';

export function attachConfiguration(choice: Choice, prefix = ''): vscode.DebugConfiguration {
  const {feed: {cluster, set}, pause} = choice;
  const name = sessionName(pause, twinTitles(set.pauses.values()).has(pauseTitle(pause)));
  return {
    type: 'raydbg', request: 'attach', name: prefix + name, task: pauseTask(choice.pause),
    ...(cluster.added ? {cluster: cluster.name} : {}),
  };
}

/** `extra`: further attributes. */
export async function startAttach(choice: Choice, extra: object = {}): Promise<void> {
  await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], {...attachConfiguration(choice), ...extra});
}

/** One session over all tasks that match, now and later. */
export async function startMany(feed: Feed, filter: PauseFilter, name: string): Promise<void> {
  const {cluster} = feed;
  await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0],
    {type: 'raydbg', request: 'attach', name, ...filter, ...(cluster.added ? {cluster: cluster.name} : {})});
}

/** What this window debugs already: see Roles. */
interface Own {
  saysOwn(choice: Choice): boolean;
}

const runThisFile: vscode.DebugConfiguration = {type: 'raydbg', request: 'launch', name: 'Ray: run this file', program: '${file}'};

/** The name of the Python file that the editor shows; undefined: it shows none that could be run. */
function shownFile(): string | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === 'python' && !document.isUntitled ? document.uri.path.replace(/^.*\//, '') : undefined;
}

/** F5 is also how a program is run, where the editor shows one. */
function runItems(run: () => void): OtherItem[] {
  const name = shownFile();
  return name === undefined ? [] : [{label: `$(play) Run ${name}`, description: 'its tasks stop at breakpoints in the gutter', act: run}];
}

/** Ctrl+F5 never attaches: that is debugging. */
function withoutDebugging(): vscode.DebugConfiguration | undefined {
  if (shownFile() !== undefined) return {...runThisFile, noDebug: true};
  void showInformation('The editor shows no Python file to run.');
  return undefined;
}

/** launch.json, the dynamic list, and F5 in a folder without one. */
export class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  /** `python` is the interpreter of the workspace. */
  constructor(private readonly pauses: Pauses, private readonly clusters: Clusters, private readonly mappings: Mappings,
    private readonly roles: Own, private readonly python: () => Promise<string | undefined>) {}

  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    const current = this.pauses.pauses.map((choice) => attachConfiguration(choice, 'Ray: '));
    return [...current, runThisFile,
      {type: 'raydbg', request: 'attach', name: 'Ray: pick a paused task', task: '${command:raydbg.pickTask}'},
      {type: 'raydbg', request: 'attach', name: 'Ray: all paused tasks', tasks: '*'}];
  }

  /** F5 without a launch.json comes with an empty configuration, Ctrl+F5 with noDebug alone. */
  async resolveDebugConfiguration(folder: vscode.WorkspaceFolder | undefined,
                                  configuration: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
    if (configuration.type || configuration.request) return configuration;
    if (configuration['noDebug']) return withoutDebugging();
    const chosen = {run: false};
    const choices = await pickTasks(this.pauses, true, 'Attach to', runItems(() => (chosen.run = true)));
    if (chosen.run) return {...runThisFile};
    return startAll(folder, (choices ?? []).filter((choice) => !this.roles.saysOwn(choice)).map((choice) => attachConfiguration(choice)));
  }

  async resolveDebugConfigurationWithSubstitutedVariables(folder: vscode.WorkspaceFolder | undefined,
      configuration: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
    if (!vscode.workspace.isTrusted) {
      void showError('Attaching is off: this workspace is not trusted.', commandFix('Manage Trust...', 'workbench.trust.manage'));
      return undefined;
    }
    const name = configuration['cluster'] as string | undefined;
    if (name && !this.clusters.find(name)) {
      void showError(`There is no cluster "${name}" among those of raydbg.clusters.`, commandFix('Add Cluster...', 'raydbg.addCluster'));
      return undefined;
    }
    if (configuration.request === 'launch') return this.completeLaunch(folder, configuration);
    const pathMappings = await this.mappings.of(folder, configuration, this.found(configuration).map(({pause}) => pause));
    return {
      redirectOutput: true, showReturnValue: true, endWithTask: true, ...(isMany(configuration) ? {eager: true, preserveFocus: mayFocus()} : {}), ...configuration,
      ...this.addedCluster(configuration), ...(pathMappings.length ? {pathMappings} : {}),
    };
  }

  /** What the program prints is in its terminal, its tasks' output with it. Undefined: it runs without debugging. */
  private async completeLaunch(folder: vscode.WorkspaceFolder | undefined, configuration: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
    const python = (configuration['python'] as unknown) ?? await this.python();
    const cwd = folder?.uri.fsPath;
    const plain = configuration['noDebug'] ? plainRun(configuration, await this.python()) : undefined;
    if (plain) { // raydbg refuses any other configuration, and says why
      const name = plain.argv.join(' ');
      await runTask(name, {type: 'raydbg', command: 'plain', target: name}, plain.argv, plain.env, false, plain.cwd ?? cwd);
      return undefined;
    }
    return {showReturnValue: true, eager: true, preserveFocus: mayFocus(), ...(cwd ? {cwd} : {}), ...configuration, ...(python ? {python} : {})};
  }

  /** The cluster of a session: the one it names, else the one that lists its task; of many, the one on this machine. */
  cluster(configuration: vscode.DebugConfiguration): Cluster | undefined {
    const name = configuration['cluster'] as string | undefined;
    if (name) return this.clusters.find(name);
    if (configuration.request === 'launch') return undefined; // the one that the program itself uses
    if (!isMany(configuration)) return this.found(configuration)[0]?.feed.cluster;
    return configuration['address'] || configuration['relay'] ? undefined : this.clusters.all.find((cluster) => !cluster.added);
  }

  /** A task that was picked is an id alone: the session is of the cluster that lists it now, whatever that lists later. */
  private addedCluster(configuration: vscode.DebugConfiguration): {cluster?: string} {
    const {cluster, address, relay} = configuration as {cluster?: string; address?: string; relay?: string};
    const found = cluster || address || relay || isMany(configuration) ? undefined : this.cluster(configuration);
    return found?.added ? {cluster: found.name} : {};
  }

  /** The pauses that it is about, as far as they are known. */
  private found(configuration: vscode.DebugConfiguration): Choice[] {
    const {pauses} = this.pauses;
    const exact = exactTask(configuration, pauses);
    if (!isMany(configuration)) return exact ? [exact] : [];
    const cluster = this.cluster(configuration);
    const fits = filterTest(filterOf(configuration));
    return pauses.filter(({feed, pause}) => feed.cluster === cluster && fits(pause));
  }
}

/** Starts all but the first, which is the caller's to start; VS Code says which of them fail. */
function startAll(folder: vscode.WorkspaceFolder | undefined,
                  configurations: vscode.DebugConfiguration[]): vscode.DebugConfiguration | undefined {
  for (const other of configurations.slice(1)) void vscode.debug.startDebugging(folder, other);
  return configurations[0];
}

/** The debug adapter is the program itself. */
export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  constructor(private readonly program: () => Promise<string>, private readonly provider: ConfigurationProvider) {}

  async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    // A session that another one has asked for is of the same cluster.
    const {configuration} = session.parentSession?.type === 'raydbg' ? session.parentSession : session;
    // A view that is made when the first stop comes leaves the locals closed.
    if (vscode.workspace.getConfiguration('debug').get('openDebug') !== 'neverOpen')
      await vscode.commands.executeCommand('workbench.view.debug');
    const cluster = this.provider.cluster(configuration);
    const {relay, tokenFile} = configuration as {relay?: string; tokenFile?: string};
    const args = ['dap', ...(cluster?.args ?? []), ...(relay ? ['--relay', relay] : []),
      ...(tokenFile ? ['--relay-token-file', tokenFile] : []),
      ...(session.configuration.request === 'launch' ? ['--launch'] : [])];
    const env = (await cluster?.environment()) ?? {};
    return new vscode.DebugAdapterExecutable(await this.program(), args, {env});
  }
}
