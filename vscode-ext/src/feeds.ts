/** The feeds of all clusters, and the program that gives them. */
import * as vscode from 'vscode';
import {Clusters} from './clusters';
import {Fix, commandFix, settingsFix, showError, textOf} from './errors';
import {Feed, FeedState} from './feed';
import {Choice, Pauses} from './pick';
import {Program, findProgram} from './program';

export class Feeds implements Pauses, vscode.Disposable {
  all: Feed[] = [];
  /** There is no program to ask. */
  broken = false;
  private readonly changed = new vscode.EventEmitter<void>();
  /** Something about some pause or some feed changed. */
  readonly onDidChange = this.changed.event;
  private found: Promise<Program> | undefined;
  private readonly listeners: vscode.Disposable[];
  /** What each cluster was said to be, so that it is said once. */
  private readonly told = new Map<string, FeedState>();

  constructor(private readonly clusters: Clusters, private readonly context: vscode.ExtensionContext,
              private readonly log: vscode.LogOutputChannel) {
    this.listeners = [
      clusters.onDidChange(() => void this.restart()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restart()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (!event.affectsConfiguration('raydbg.path')) return;
        this.found = undefined;
        void this.restart();
      }),
    ];
    void this.restart();
  }

  get pauses(): readonly Choice[] {
    return this.all.flatMap((feed) => [...feed.set.pauses.values()].map((pause) => ({feed, pause})));
  }

  /** Found once; after a failure looked for again. */
  async program(): Promise<Program> {
    const setting = vscode.workspace.getConfiguration('raydbg').get('path', '');
    const {version} = this.context.extension.packageJSON as {version: string};
    this.found ??= findProgram(setting, this.context.extensionPath, version);
    try {
      return await this.found;
    } catch (error) {
      this.found = undefined;
      throw error;
    }
  }

  async restart(): Promise<void> {
    this.stop();
    if (!vscode.workspace.isTrusted) {
      await vscode.commands.executeCommand('setContext', 'raydbg.state', 'untrusted');
      return;
    }
    try {
      const program = await this.program();
      this.broken = false;
      this.log.info(`raydbg ${program.version} at ${program.path}`);
      this.stop();
      this.all = this.clusters.all.map((cluster) => new Feed(cluster, program, this.log));
      for (const feed of this.all) {
        feed.onDidChange(() => {
          this.tell(feed);
          this.changed.fire();
        });
      }
    } catch (error) {
      const text = textOf(error);
      this.broken = true;
      void showError(`Ray Debug cannot run raydbg: ${text}`, settingsFix('Set Path...', 'raydbg.path'));
    }
    this.changed.fire();
  }

  dispose(): void {
    this.stop();
    for (const listener of this.listeners) listener.dispose();
    this.changed.dispose();
  }

  private stop(): void {
    for (const feed of this.all) feed.dispose();
    this.all = [];
  }

  /** A cluster that the user has named is spoken of; that there is none on this machine is no error. */
  private tell(feed: Feed): void {
    const {cluster, state} = feed;
    const before = this.told.get(cluster.name);
    if (state === before) return;
    this.told.set(cluster.name, state); // the user's own retry is told of again
    const silent = state === 'live' || state === 'starting' || (!cluster.added && state !== 'denied' && state !== 'away');
    if (silent) return;
    void showError(`${cluster.name}: ${feed.problem}`, ...this.fixes(feed));
  }

  private fixes(feed: Feed): Fix[] {
    const {cluster, state} = feed;
    const token = commandFix('Set Relay Token...', 'raydbg.setToken', {data: {kind: 'cluster', feed}});
    const retry: Fix = {label: 'Retry', run: () => feed.restart()};
    if (/certificate|fingerprint/.test(feed.problem))
      return [commandFix('Trust Certificate...', 'raydbg.trustCertificate', {data: {kind: 'cluster', feed}}), retry];
    if (state === 'denied') return [token];
    return cluster.added ? [retry, settingsFix('Edit Clusters', 'raydbg.clusters')] : [retry];
  }
}
