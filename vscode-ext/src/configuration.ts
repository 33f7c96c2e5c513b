/** Debug configurations: what F5 does, what launch.json offers, what an attach needs added. */
import * as vscode from 'vscode';
import {Cluster, Clusters} from './clusters';
import {commandFix, showError} from './errors';
import {Mappings} from './mappings';
import {pauseTask, pauseTitle} from './pause';
import {Choice, Pauses, pickTasks} from './pick';

export function attachConfiguration(choice: Choice, name = pauseTitle(choice.pause)): vscode.DebugConfiguration {
  const {cluster} = choice.feed;
  return {
    type: 'raydbg', request: 'attach', name, task: pauseTask(choice.pause),
    ...(cluster.added ? {cluster: cluster.name} : {}),
  };
}

/** `extra`: further attributes. */
export async function startAttach(choice: Choice, extra: object = {}): Promise<void> {
  await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], {...attachConfiguration(choice), ...extra});
}

/** launch.json, the dynamic list, and F5 in a folder without one. */
export class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  constructor(private readonly pauses: Pauses, private readonly clusters: Clusters, private readonly mappings: Mappings) {}

  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    const current = this.pauses.pauses.map((choice) => attachConfiguration(choice, `Ray: ${pauseTitle(choice.pause)}`));
    return [...current, {type: 'raydbg', request: 'attach', name: 'Ray: pick a paused task', task: '${command:raydbg.pickTask}'}];
  }

  /** F5 without a launch.json comes with an empty configuration. */
  async resolveDebugConfiguration(folder: vscode.WorkspaceFolder | undefined,
                                  configuration: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
    if (!configuration.type && !configuration.request)
      return startAll(folder, ((await pickTasks(this.pauses, true)) ?? []).map((choice) => attachConfiguration(choice)));
    if (!Array.isArray(configuration['tasks'])) return configuration;
    const {tasks, ...rest} = configuration;
    return startAll(folder, (tasks as string[]).map((task) =>
      ({...rest, task, name: `${configuration.name}: ${task}`})));
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
    const pathMappings = await this.mappings.of(folder, configuration, this.find(configuration)?.pause);
    return {
      redirectOutput: true, showReturnValue: true, ...configuration, ...(pathMappings.length ? {pathMappings} : {}),
    };
  }

  /** The cluster of a session: the one it names, else the one that lists its task. */
  cluster(configuration: vscode.DebugConfiguration): Cluster | undefined {
    const name = configuration['cluster'] as string | undefined;
    return name ? this.clusters.find(name) : this.find(configuration)?.feed.cluster;
  }

  private find(configuration: vscode.DebugConfiguration): Choice | undefined {
    return this.pauses.pauses.find((choice) => pauseTask(choice.pause) === configuration['task']);
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
    const {configuration} = session;
    // A view that is made when the first stop comes leaves the locals closed.
    if (vscode.workspace.getConfiguration('debug').get('openDebug') !== 'neverOpen')
      await vscode.commands.executeCommand('workbench.view.debug');
    const cluster = this.provider.cluster(configuration);
    const {relay, tokenFile} = configuration as {relay?: string; tokenFile?: string};
    const args = ['dap', ...(cluster?.args ?? []), ...(relay ? ['--relay', relay] : []),
      ...(tokenFile ? ['--relay-token-file', tokenFile] : [])];
    const env = (await cluster?.environment()) ?? {};
    return new vscode.DebugAdapterExecutable(await this.program(), args, {env});
  }
}
