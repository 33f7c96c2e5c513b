/** The feeds of all clusters, and the program that gives them. */
import * as vscode from 'vscode';
import {Cluster, Clusters, noCluster} from './clusters';
import {Fix, commandFix, settingsFix, showError, textOf} from '../base/errors';
import {showInformation} from '../base/messages';
import {Feed} from './feed';
import {isAboutCertificate, isTrouble, troubleText} from './feed-state';
import {PauseSet, pauseKey} from '../pauses/pause';
import {Choice, Pauses} from '../pauses/pick';
import {Program} from '../base/program';
import {Finder} from '../program/finder';

export class Feeds implements Pauses, vscode.Disposable {
  all: Feed[] = [];
  /** There is no program to ask. */
  broken = false;
  private readonly changed = new vscode.EventEmitter<void>();
  /** Something about some pause or some feed changed. */
  readonly onDidChange = this.changed.event;
  private readonly listeners: vscode.Disposable[];
  /** Counts the restarts: one that another has overtaken does nothing more. */
  private turn = 0;
  /** Why there is no program, as the user was told. */
  private toldProblem = '';
  /** What each cluster was said to be, so that it is said once. */
  private readonly told = new Map<string, string>();
  /** What is known of the clusters' pauses, also while the feeds are made anew. */
  private readonly sets = new Map<string, PauseSet>();

  constructor(private readonly clusters: Clusters, private readonly finder: Finder,
              private readonly log: vscode.LogOutputChannel) {
    this.listeners = [
      clusters.onDidChange(() => void this.restart()),
      finder.onDidChange(() => void this.restart()),
    ];
    void this.restart();
  }

  get pauses(): readonly Choice[] {
    return this.all.flatMap((feed) => [...feed.set.pauses.values()].map((pause) => ({feed, pause})));
  }

  /** Why no pause can be known; "": one can, or may soon. */
  get trouble(): string {
    if (this.broken) return this.toldProblem;
    return this.all.length || !this.clusters.all.length ? troubleText(this.all.map(({told}) => told)) : '';
  }

  /** The feed of the cluster as it is now; undefined: there is none, or no feed runs. */
  find(name: string): Feed | undefined {
    return this.all.find(({cluster}) => cluster.name === name);
  }

  /** The pause as it is now; undefined: it is none any more. */
  current({feed, pause}: Choice): Choice | undefined {
    const now = this.find(feed.cluster.name);
    const found = now?.set.pauses.get(pauseKey(pause));
    const same = found && (pause.task_id === null || found.task_id === pause.task_id); // an id may come after the pause
    return now && same ? {feed: now, pause: found} : undefined;
  }

  program(): Promise<Program> {
    return this.finder.program();
  }

  /** The user's wish: what was told is told again. */
  async retry(): Promise<void> {
    this.toldProblem = '';
    await this.restart();
  }

  /** Asks a single cluster again, by the feed that it has now: a notification with this button may be older. */
  async retryOne(name: string): Promise<void> {
    const feed = this.find(name);
    if (feed) feed.restart();
    else if (this.clusters.find(name)) await this.retry();
    else void showInformation(noCluster(name));
  }

  async restart(): Promise<void> {
    const turn = ++this.turn;
    this.stop();
    if (!vscode.workspace.isTrusted) {
      await vscode.commands.executeCommand('setContext', 'raydbg.state', 'untrusted');
      return;
    }
    try {
      const program = await this.program();
      if (turn !== this.turn) return;
      this.broken = false;
      this.toldProblem = '';
      this.stop();
      this.all = this.clusters.all.map((cluster) => new Feed(cluster, program, this.log, this.setOf(cluster)));
      for (const feed of this.all) {
        feed.onDidChange(() => {
          if (feed.state === 'failed' && this.finder.lost()) return;
          this.tell(feed);
          this.changed.fire();
        });
      }
    } catch (error) {
      if (turn !== this.turn) return;
      this.broken = true;
      this.tellProblem(textOf(error));
    }
    this.changed.fire();
  }

  dispose(): void {
    this.stop();
    for (const listener of this.listeners) listener.dispose();
    this.changed.dispose();
  }

  /** Another cluster may have got the name of an earlier one: that has another address. */
  private setOf({setting}: Cluster): PauseSet {
    const key = `${setting.name}\n${setting.address ?? ''}\n${setting.relay ?? ''}`;
    const set = this.sets.get(key) ?? new PauseSet();
    this.sets.set(key, set);
    return set;
  }

  private stop(): void {
    for (const feed of this.all) feed.dispose();
    this.all = [];
  }

  /** Told once, though a search follows each change of the environment. */
  private tellProblem(problem: string): void {
    if (problem === this.toldProblem) return;
    this.toldProblem = problem;
    void this.finder.tell(problem);
  }

  /** A cluster that the user has named is spoken of; that there is none on this machine is no error. */
  private tell(feed: Feed): void {
    const {cluster, state} = feed;
    const said = state === 'denied' ? `${state} ${feed.problem}` : state; // first the certificate, then the token
    if (said === this.told.get(cluster.name)) return;
    this.told.set(cluster.name, said); // the user's own retry is told of again
    if (isTrouble(feed.told)) void showError(`${cluster.name}: ${feed.problem}`, ...this.fixes(feed));
  }

  private fixes(feed: Feed): Fix[] {
    const {cluster, state} = feed;
    const token = commandFix('Set Relay Token...', 'raydbg.setToken', {data: {kind: 'cluster', feed}});
    const retry: Fix = {label: 'Retry', run: () => this.retryOne(cluster.name)};
    if (isAboutCertificate(feed.problem))
      return [commandFix('Trust Certificate...', 'raydbg.trustCertificate', {data: {kind: 'cluster', feed}}), retry];
    if (state === 'denied') return [token];
    return cluster.added ? [retry, settingsFix('Edit Clusters', 'raydbg.clusters')] : [retry];
  }
}
