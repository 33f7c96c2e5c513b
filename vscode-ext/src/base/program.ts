/** Runs the raydbg program. The only place that starts processes. */
import {ChildProcessWithoutNullStreams, spawn} from 'node:child_process';

export interface Program {
  path: string;
  /** What the program itself says: "0.1.0". */
  version: string;
}

/** What a command printed. `code` is null if it was ended by a signal. */
export interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

export class ProgramError extends Error {
  constructor(message: string, readonly code: number | null = null) {
    super(message);
    this.name = 'ProgramError';
  }
}

/** raydbg's exit codes: see `raydbg help`. */
export const Exit = {ok: 0, failed: 1, usage: 2, notFound: 3, denied: 4, unreachable: 5} as const;

/** `env` is added to the extension host's. */
export function start(file: string, args: readonly string[], env: Record<string, string>): ChildProcessWithoutNullStreams {
  return spawn(file, args, {env: {...process.env, ...env}, stdio: 'pipe'});
}

export function run(file: string, args: readonly string[], env: Record<string, string>,
                    signal?: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const child = start(file, args, env);
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdin.end();
    child.stdout.on('data', (bytes: Buffer) => stdout.push(bytes));
    child.stderr.on('data', (bytes: Buffer) => stderr.push(bytes));
    child.on('error', (error) => reject(new ProgramError(`${file} does not start: ${error.message}`)));
    child.on('close', (code) => resolve({code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString()}));
    signal?.addEventListener('abort', () => child.kill('SIGTERM'), {once: true});
  });
}

/** Cuts a stream into lines; a line that is not ended yet waits. */
export class Lines {
  private rest = '';

  push(text: string): string[] {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    return lines;
  }
}

/** Without the clauses that name an option of the command line: nobody types one here, and a message has a button instead. */
function withoutOptions(hint: string): string {
  return hint.split('; ').filter((clause) => !/(^|[\s"'`(])--[a-z]/.test(clause)).join('; ');
}

/** What, why and hint as one sentence for a message box. */
export function sentenceOf([what, ...more]: readonly (string | null | undefined)[]): string {
  return [what, ...more.map((part) => withoutOptions(part ?? ''))].filter(Boolean).join(' — ');
}

/** The same of "raydbg: what\n  why\n  hint". */
export function errorText(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim()).filter(Boolean);
  const first = lines.findIndex((line) => line.startsWith('raydbg: '));
  return sentenceOf(lines.slice(Math.max(first, 0)).map((line) => line.replace(/^raydbg: /, '')));
}
