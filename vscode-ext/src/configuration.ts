/** Debug configurations: what F5 does, what launch.json offers, what an attach needs added. */
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import {Cluster, Clusters} from './cluster';
import {Feed} from './feed';
import {Pause, pauseDescription, pauseTask, pauseTitle} from './pause';
import {PathMapping, guessMapping, packageRoot} from './pathMapping';

export interface Choice {
  feed: Feed;
  pause: Pause;
}

/** What the view and the providers know of each other. */
export interface Pauses {
  readonly pauses: readonly Choice[];
}

export function attachConfiguration(choice: Choice, name = pauseTitle(choice.pause)): vscode.DebugConfiguration {
  const cluster = choice.feed.cluster;
  return {
    type: 'raydbg', request: 'attach', name, task: pauseTask(choice.pause),
    ...(cluster.added ? {cluster: cluster.name} : {}),
  };
}

interface TaskItem extends vscode.QuickPickItem {
  choice: Choice;
}

/** Asks which of the paused tasks; undefined if the user gave up. The list follows the cluster while it is open. */
export function pickTasks(pauses: Pauses, many: boolean, changed: vscode.Event<void>): Promise<Choice[] | undefined> {
  const pick = vscode.window.createQuickPick<TaskItem>();
  pick.title = many ? 'Attach to paused Ray tasks' : 'Attach to a paused Ray task';
  pick.canSelectMany = many;
  pick.matchOnDescription = pick.matchOnDetail = true;
  const fill = (): void => {
    const chosen = new Set(pick.selectedItems.map((item) => item.choice.pause.endpoint));
    pick.items = pauses.pauses.map((choice) => taskItem(choice));
    pick.selectedItems = pick.items.filter((item) => chosen.has(item.choice.pause.endpoint));
    pick.placeholder = pick.items.length ? 'Type to filter by name, node, state or line'
      : 'No task is paused: waiting for the first breakpoint()...';
    pick.busy = pick.items.length === 0;
  };
  fill();
  return new Promise((resolve) => {
    const listener = changed(fill);
    pick.onDidAccept(() => {
      const items = many ? pick.selectedItems : pick.activeItems;
      if (!items.length) return;
      resolve(items.map((item) => item.choice));
      pick.hide();
    });
    pick.onDidHide(() => {
      listener.dispose();
      pick.dispose();
      resolve(undefined);
    });
    pick.show();
  });
}

function taskItem(choice: Choice): TaskItem {
  const {pause, feed} = choice;
  return {
    label: `$(debug-pause) ${pauseTitle(pause)}`,
    description: pauseDescription(pause, Date.now()),
    detail: [pause.task_id, `pid ${pause.pid ?? '?'}`, feed.cluster.added ? feed.cluster.name : ''].filter(Boolean).join(' · '),
    choice,
  };
}

/** launch.json, the dynamic list, and F5 in a folder without one. */
export class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  constructor(private readonly pauses: Pauses, private readonly clusters: Clusters, private readonly changed: vscode.Event<void>,
              private readonly memory: vscode.Memento, private readonly log: vscode.LogOutputChannel) {}

  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    const current = this.pauses.pauses.map((choice) => attachConfiguration(choice, `Ray: ${pauseTitle(choice.pause)}`));
    return [...current, {type: 'raydbg', request: 'attach', name: 'Ray: pick a paused task', task: '${command:raydbg.pickTask}'}];
  }

  /** F5 without a launch.json comes with an empty configuration. */
  async resolveDebugConfiguration(folder: vscode.WorkspaceFolder | undefined,
                                  configuration: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
    if (!configuration.type && !configuration.request) {
      const chosen = await pickTasks(this.pauses, true, this.changed);
      return this.startAll(folder, chosen);
    }
    if (Array.isArray(configuration['tasks'])) {
      const {tasks, ...rest} = configuration;
      const all = (tasks as string[]).map((task) => ({...rest, task, name: `${configuration.name}: ${task}`} as vscode.DebugConfiguration));
      for (const other of all.slice(1)) await vscode.debug.startDebugging(folder, other);
      return all[0];
    }
    return configuration;
  }

  async resolveDebugConfigurationWithSubstitutedVariables(folder: vscode.WorkspaceFolder | undefined,
      configuration: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration | undefined> {
    const choice = this.find(configuration);
    const mappings = await this.mappings(folder, configuration, choice?.pause);
    return {
      redirectOutput: true, showReturnValue: true, ...configuration,
      ...(mappings.length ? {pathMappings: mappings} : {}),
    };
  }

  private async startAll(folder: vscode.WorkspaceFolder | undefined, chosen: Choice[] | undefined):
      Promise<vscode.DebugConfiguration | undefined> {
    const [first, ...others] = chosen ?? [];
    for (const other of others) await vscode.debug.startDebugging(folder, attachConfiguration(other));
    return first && attachConfiguration(first);
  }

  private find(configuration: vscode.DebugConfiguration): Choice | undefined {
    return this.pauses.pauses.find((choice) => pauseTask(choice.pause) === configuration['task']);
  }

  /** Given ones win, then those of the settings; else they are worked out from where the task stands. */
  private async mappings(folder: vscode.WorkspaceFolder | undefined, configuration: vscode.DebugConfiguration,
                         pause: Pause | undefined): Promise<PathMapping[]> {
    if (Array.isArray(configuration['pathMappings'])) return configuration['pathMappings'] as PathMapping[];
    const set = vscode.workspace.getConfiguration('raydbg', folder).get<PathMapping[]>('pathMappings', []);
    const file = pause?.location?.file;
    if (!file || set.some((mapping) => file.startsWith(mapping.remoteRoot))) return set;
    const folders = (vscode.workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === 'file').map((one) => one.uri.fsPath);
    const guess = guessMapping(file, folders, fs.existsSync);
    const chosen = guess.candidates.length > 1 ? await this.ask(file, guess.candidates) : guess.candidates[0];
    if (chosen) this.log.info(`files of ${chosen.remoteRoot} are those of ${chosen.localRoot}`);
    return chosen ? [...set, chosen] : set;
  }

  /** Several folders have the file: one question, and the answer is remembered. */
  private async ask(file: string, candidates: PathMapping[]): Promise<PathMapping | undefined> {
    const key = `mapping:${packageRoot(file) ? file.slice((packageRoot(file) ?? '').length) : file}`;
    const known = this.memory.get<string>(key);
    const remembered = candidates.find((one) => one.localRoot === known);
    if (remembered) return remembered;
    const picked = await vscode.window.showQuickPick(candidates.map((one) => ({label: one.localRoot, one})),
      {title: `Which folder does the worker's ${file.replace(/^.*\//, '')} come from?`, placeHolder: file});
    if (picked) await this.memory.update(key, picked.one.localRoot);
    return picked?.one;
  }

  cluster(configuration: vscode.DebugConfiguration): Cluster | undefined {
    const name = configuration['cluster'] as string | undefined;
    return name ? this.clusters.find(name) : this.find(configuration)?.feed.cluster;
  }
}

/** The debug adapter is the program itself. */
export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  constructor(private readonly program: () => Promise<string>, private readonly provider: ConfigurationProvider) {}

  async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    const configuration = session.configuration;
    const cluster = this.provider.cluster(configuration);
    const relay = configuration['relay'] as string | undefined;
    const args = ['dap', ...(cluster ? cluster.args : []), ...(relay ? ['--relay', relay] : [])];
    const environment = (await cluster?.environment()) ?? {};
    const env = Object.fromEntries(Object.entries(environment).filter((pair): pair is [string, string] => pair[1] !== undefined));
    return new vscode.DebugAdapterExecutable(await this.program(), args, {env});
  }
}
