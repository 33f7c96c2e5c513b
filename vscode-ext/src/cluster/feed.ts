/** The live list of one cluster's pauses: `raydbg list --watch --format json`, started again when it ends. */
import {ChildProcessWithoutNullStreams} from 'node:child_process';
import * as vscode from 'vscode';
import {Cluster} from './clusters';
import type {FeedState, Told} from './feed-state';
import {PauseSet, parseLine} from '../pauses/pause';
import {Exit, Lines, Program, errorText, sentenceOf, start} from '../base/program';
import {Turns} from '../base/turns';

const soonest = 500;
const slowest = 5000;

const ends: Partial<Record<number, FeedState>> = {[Exit.denied]: 'denied', [Exit.unreachable]: 'unreachable'};

export class Feed implements vscode.Disposable {
  state: FeedState = 'starting';
  /** Why it is not live. */
  problem = '';
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private child: ChildProcessWithoutNullStreams | undefined;
  private timer: NodeJS.Timeout | undefined;
  private delay = soonest;
  private readonly turns = new Turns();

  /** `set`: of an earlier feed of this cluster, which has been disposed. */
  constructor(readonly cluster: Cluster, private readonly program: Program, private readonly log: vscode.LogOutputChannel,
              readonly set = new PauseSet()) {
    this.set.clear();
    void this.run();
  }

  get told(): Told {
    const {state, problem, cluster: {name, added}} = this;
    return {name, added, state, problem, count: this.set.pauses.size};
  }

  /** Now, not when it would be its turn: a token was set, a relay was started. */
  restart(): void {
    this.delay = soonest;
    this.leave();
    this.tell('starting', '');
    void this.run();
  }

  dispose(): void {
    this.turns.end();
    this.leave();
    this.changed.dispose();
  }

  /** Ends the child: what it still says, and how it ends, counts no more. */
  private leave(): void {
    const {child} = this;
    clearTimeout(this.timer);
    this.child = undefined;
    child?.kill('SIGTERM');
  }

  private async run(): Promise<void> {
    clearTimeout(this.timer);
    const isLatest = this.turns.take();
    const args = ['list', '--watch', '--format', 'json', ...this.cluster.args];
    const environment = await this.cluster.environment();
    if (!isLatest()) return;
    const child = start(this.program.path, args, environment);
    const lines = new Lines();
    let stderr = '';
    this.child = child;
    this.set.clear();
    child.stdin.end();
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.child === child && this.take(lines.push(text)));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-4096);
      this.log.info(`${this.cluster.name}: ${text.trim()}`);
    });
    child.on('error', (error) => this.end(child, null, error.message));
    child.on('close', (code) => this.end(child, code, stderr));
  }

  private take(lines: string[]): void {
    let {state, problem} = this;
    for (const line of lines) {
      const said = parseLine(line);
      if (said?.event === 'live') [state, problem] = ['live', ''];
      else if (said?.event === 'away') [state, problem] = ['away', sentenceOf([said.error.what, said.error.why, said.error.hint])];
      else if (said) this.set.apply(said, Date.now());
    }
    this.delay = soonest;
    this.tell(state, problem);
  }

  private end(child: ChildProcessWithoutNullStreams, code: number | null, stderr: string): void {
    if (this.child !== child) return;
    this.child = undefined;
    this.set.clear();
    this.timer = setTimeout(() => void this.run(), this.delay);
    this.delay = Math.min(this.delay * 2, slowest);
    this.tell((code !== null && ends[code]) || 'failed', errorText(stderr) || `raydbg ended with ${code ?? 'a signal'}`);
  }

  private tell(state: FeedState, problem: string): void {
    if (state !== this.state && (state !== 'live' || this.state !== 'starting'))
      this.log.info(`${this.cluster.name}: ${state} ${problem}`);
    this.state = state;
    this.problem = problem;
    this.changed.fire();
  }
}
