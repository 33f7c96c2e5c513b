/** The live list of one cluster's pauses: `raydbg list --watch --format json`, started again when it ends. */
import {ChildProcessWithoutNullStreams} from 'node:child_process';
import * as vscode from 'vscode';
import {Cluster} from './cluster';
import {PauseSet, parseChange} from './pause';
import {Exit, Lines, Program, errorText, start} from './program';

export type FeedState = 'starting' | 'live' | 'denied' | 'unreachable' | 'failed';

const slowest = 10_000;

export class Feed implements vscode.Disposable {
  readonly set = new PauseSet();
  state: FeedState = 'starting';
  /** Why it is not live. */
  problem = '';
  private readonly changed = new vscode.EventEmitter<string | undefined>();
  /** The key of the pause that changed; undefined: everything. */
  readonly onDidChange = this.changed.event;
  private child: ChildProcessWithoutNullStreams | undefined;
  private timer: NodeJS.Timeout | undefined;
  private delay = 500;
  private disposed = false;

  constructor(readonly cluster: Cluster, private readonly program: Program, private readonly log: vscode.LogOutputChannel) {
    void this.run();
  }

  /** Now, not when it would be its turn: a token was set, a relay was started. */
  restart(): void {
    this.delay = 500;
    if (this.child) this.child.kill('SIGTERM');
    else void this.run();
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.timer);
    this.child?.kill('SIGTERM');
    this.changed.dispose();
  }

  private async run(): Promise<void> {
    clearTimeout(this.timer);
    const args = ['list', '--watch', '--format', 'json', ...this.cluster.args];
    const environment = await this.cluster.environment();
    if (this.disposed || this.child) return;
    this.log.info(`${this.cluster.name}: raydbg ${args.join(' ')}`);
    const child = start(this.program.path, args, environment);
    const lines = new Lines();
    let stderr = '';
    this.child = child;
    this.forget();
    child.stdin.end();
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.take(lines.push(text)));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-4096);
      this.log.info(`${this.cluster.name}: ${text.trim()}`);
    });
    child.on('error', (error) => this.end(null, error.message));
    child.on('close', (code) => this.end(code, stderr));
    this.settle('live', '', 300);
  }

  private take(lines: string[]): void {
    for (const line of lines) {
      const change = parseChange(line);
      if (change) this.changed.fire(this.set.apply(change));
    }
    this.delay = 500;
    if (this.state !== 'live') this.tell('live', '');
  }

  /** A program that has not ended for a while is live even if nothing is paused. */
  private settle(state: FeedState, problem: string, after: number): void {
    const child = this.child;
    setTimeout(() => {
      if (this.child === child && child && this.state === 'starting') this.tell(state, problem);
    }, after);
  }

  private end(code: number | null, stderr: string): void {
    if (!this.child) return;
    this.child = undefined;
    this.forget();
    if (this.disposed) return;
    this.tell(code === Exit.denied ? 'denied' : code === Exit.unreachable ? 'unreachable' : 'failed', errorText(stderr));
    this.timer = setTimeout(() => void this.run(), this.delay);
    this.delay = Math.min(this.delay * 2, slowest);
  }

  private forget(): void {
    this.set.pauses.clear();
    this.changed.fire(undefined);
  }

  private tell(state: FeedState, problem: string): void {
    this.state = state;
    this.problem = problem;
    this.changed.fire(undefined);
  }
}
