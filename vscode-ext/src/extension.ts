/** Wires the parts; nothing else. */
import * as vscode from 'vscode';
import {Clusters} from './clusters';
import {registerCommands} from './commands';
import {AdapterFactory, ConfigurationProvider} from './configuration';
import {errorsGoTo} from './errors';
import {Feeds} from './feeds';
import {Mappings} from './mappings';
import {ObjectsView} from './objects-view';
import {PausesView} from './pauses-view';
import {Roles} from './roles';
import {SessionsView} from './sessions-view';
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
  const status = new Status();
  const mappings = new Mappings(context.workspaceState, log);
  const provider = new ConfigurationProvider(feeds, clusters, mappings);
  const factory = new AdapterFactory(async () => (await feeds.program()).path, provider);
  const dynamic = vscode.DebugConfigurationProviderTriggerKind.Dynamic;
  context.subscriptions.push(
    log, clusters, feeds, view, objects, sessions, roles, status, new Watchdog(feeds),
    feeds.onDidChange(() => {
      view.refresh();
      status.update(feeds.pauses);
    }),
    vscode.debug.registerDebugConfigurationProvider('raydbg', provider),
    vscode.debug.registerDebugConfigurationProvider('raydbg', provider, dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory('raydbg', factory),
    vscode.tasks.registerTaskProvider('raydbg', new ForwardTasks()),
    ...registerCommands({context, clusters, feeds, view, objects, sessions, roles, mappings, log}),
  );
}
