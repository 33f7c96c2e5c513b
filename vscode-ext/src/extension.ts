/** Wires the parts; nothing else. */
import * as vscode from 'vscode';
import {Clusters} from './cluster';
import {AdapterFactory, ConfigurationProvider} from './configuration';
import {registerCommands} from './commands';
import {Feeds} from './feeds';
import {PausesView} from './pausesView';
import {Status} from './status';

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Ray Debug', {log: true});
  const clusters = new Clusters(context.secrets);
  const feeds = new Feeds(clusters, context, log);
  const view = new PausesView(() => feeds.all);
  const status = new Status();
  const provider = new ConfigurationProvider(feeds, clusters, feeds.onDidChange, context.workspaceState, log);
  const factory = new AdapterFactory(async () => (await feeds.program()).path, provider);
  context.subscriptions.push(
    log, clusters, feeds, view, status,
    feeds.onDidChange(() => {
      view.refresh();
      status.update(feeds.pauses);
    }),
    vscode.debug.registerDebugConfigurationProvider('raydbg', provider),
    vscode.debug.registerDebugConfigurationProvider('raydbg', provider, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory('raydbg', factory),
    ...registerCommands({clusters, feeds, view, provider, log}),
  );
}
