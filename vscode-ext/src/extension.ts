/** Wires the parts; nothing else. */
import * as vscode from 'vscode';
import {BarrierProgress} from './barrier-progress';
import {Clusters} from './clusters';
import {registerCommands} from './commands';
import {AdapterFactory, ConfigurationProvider} from './configuration';
import {errorsGoTo} from './errors';
import {Feeds} from './feeds';
import {GroupsView} from './groups-view';
import {ManySessions} from './many-sessions';
import {Mappings} from './mappings';
import {ObjectsView} from './objects-view';
import {PausesView} from './pauses-view';
import {Roles} from './roles';
import {SessionsView} from './sessions-view';
import {StacksView} from './stacks-view';
import {Status} from './status';
import {ForwardTasks} from './tasks';
import {Watchdog} from './watchdog';

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Ray Debug', {log: true});
  errorsGoTo(log);
  const clusters = new Clusters(context.secrets);
  const feeds = new Feeds(clusters, context, log);
  const view = new PausesView(feeds);
  const objects = new ObjectsView(feeds);
  const sessions = new SessionsView(feeds);
  const roles = new Roles(feeds, () => sessions.refresh());
  const many = new ManySessions();
  const stacks = new StacksView(many);
  const status = new Status();
  const mappings = new Mappings(context.workspaceState, log);
  const provider = new ConfigurationProvider(feeds, clusters, mappings);
  const factory = new AdapterFactory(async () => (await feeds.program()).path, provider);
  const dynamic = vscode.DebugConfigurationProviderTriggerKind.Dynamic;
  context.subscriptions.push(
    log, clusters, feeds, view, objects, sessions, roles, status, new Watchdog(feeds),
    many, stacks, new GroupsView(many, log), new BarrierProgress(many),
    feeds.onDidChange(() => {
      view.refresh();
      status.update(feeds.pauses);
    }),
    vscode.debug.registerDebugConfigurationProvider('raydbg', provider),
    vscode.debug.registerDebugConfigurationProvider('raydbg', provider, dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory('raydbg', factory),
    vscode.debug.registerDebugAdapterTrackerFactory('raydbg', many),
    vscode.tasks.registerTaskProvider('raydbg', new ForwardTasks()),
    ...registerCommands({context, clusters, feeds, view, objects, sessions, roles, many, stacks, mappings, log}),
  );
}
