/** Wires the parts; nothing else. */
import * as vscode from 'vscode';
import {BarrierProgress} from './many/barrier-progress';
import {Clusters} from './cluster/clusters';
import {registerCommands} from './commands';
import {AdapterFactory, ConfigurationProvider} from './session/configuration';
import {errorsGoTo} from './base/errors';
import {Feeds} from './cluster/feeds';
import {Finder} from './program/finder';
import {GroupsView} from './many/groups-view';
import {ManySessions} from './many/many-sessions';
import {Mappings} from './session/mappings';
import {ObjectsView} from './objects/objects-view';
import {PausesView} from './pauses/pauses-view';
import {RankNames} from './session/rank-names';
import {Roles} from './session/roles';
import {SessionsView} from './session/sessions-view';
import {StacksView} from './many/stacks-view';
import {Status} from './pauses/status';
import {ForwardTasks} from './cluster/tasks';
import {Watchdog} from './pauses/watchdog';
import {WhyDocuments} from './why/documents';
import {Failures} from './why/failures';

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Ray Debug', {log: true});
  errorsGoTo(log);
  const clusters = new Clusters(context.secrets);
  const finder = new Finder(context, log);
  const feeds = new Feeds(clusters, finder, log);
  const objects = new ObjectsView(feeds);
  const sessions = new SessionsView(feeds);
  const roles = new Roles(feeds, () => {
    sessions.refresh();
    view.refresh();
  });
  const view = new PausesView(feeds, roles);
  const many = new ManySessions();
  const stacks = new StacksView(many);
  const status = new Status();
  const mappings = new Mappings(context.workspaceState, log);
  const provider = new ConfigurationProvider(feeds, clusters, mappings, roles, () => finder.python());
  const factory = new AdapterFactory(async () => (await feeds.program()).path, provider);
  const documents = new WhyDocuments(clusters, feeds);
  const dynamic = vscode.DebugConfigurationProviderTriggerKind.Dynamic;
  context.subscriptions.push(
    log, clusters, finder, feeds, view, objects, sessions, roles, status, new Watchdog(feeds),
    many, stacks, new GroupsView(many, log), new BarrierProgress(many),
    documents, new Failures(feeds, (configuration) => provider.cluster(configuration), log),
    feeds.onDidChange(() => {
      view.refresh();
      status.update(feeds.pauses);
    }),
    vscode.debug.registerDebugConfigurationProvider('raydbg', provider),
    vscode.debug.registerDebugConfigurationProvider('raydbg', provider, dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory('raydbg', factory),
    vscode.debug.registerDebugAdapterTrackerFactory('raydbg', many),
    vscode.debug.registerDebugAdapterTrackerFactory('raydbg', new RankNames()),
    vscode.tasks.registerTaskProvider('raydbg', new ForwardTasks()),
    ...registerCommands({context, clusters, feeds, finder, view, objects, sessions, roles, many, stacks, mappings, documents, log}),
  );
}
