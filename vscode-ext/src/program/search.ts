/** Finds the raydbg program: where it is looked for, in which order, and why a candidate is taken or not. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import {Program, ProgramError, run} from '../base/program';

/** A Python environment of the user's. */
export interface Environment {
  /** How messages name it: its directory, "/work/.venv"; an interpreter that is in none by its path. */
  name: string;
  /** Why it counts: "selected in the Python extension". */
  origin: string;
  bin: string;
  /** Its interpreter. */
  python: string;
}

/** What the search depends on. */
export interface Surroundings {
  /** The setting raydbg.path; "" if it is not set. */
  setting: string;
  extensionPath: string;
  /** The environment's path as the Python extension names it, a directory or an interpreter. Asked only if it matters. */
  selected: () => Promise<string | undefined>;
  /** The workspace's folders. */
  folders: readonly string[];
  variables: Readonly<Record<string, string | undefined>>;
}

export interface Candidate {
  origin: string;
  file: string;
  environment?: Environment;
}

export type Verdict =
  | {kind: 'fits'; version: string}
  | {kind: 'absent'}
  | {kind: 'broken'; why: string}
  | {kind: 'namesake'}
  | {kind: 'older' | 'newer'; version: string};

export interface Search {
  /** The extension's own version: a program fits if it has the same major and minor version. */
  wanted: string;
  program?: Program;
  tried: {candidate: Candidate; verdict: Verdict}[];
  /** The setting or the extension had one if it is undefined: no environment was looked for. */
  environments?: Environment[];
}

const program = 'raydbg';

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function isDirectory(directory: string): boolean {
  return fs.statSync(directory, {throwIfNoEntry: false})?.isDirectory() ?? false;
}

function environmentIn(directory: string, origin: string): Environment {
  const bin = path.join(directory, 'bin');
  return {name: directory, origin, bin, python: path.join(bin, 'python')};
}

/** Of a path that is the environment's directory or its interpreter. */
function environmentOf(where: string, origin: string): Environment {
  if (isDirectory(where)) return environmentIn(where, origin);
  const bin = path.dirname(where);
  const directory = path.dirname(bin);
  const isOne = ['pyvenv.cfg', 'conda-meta'].some((mark) => fs.existsSync(path.join(directory, mark)));
  return {name: isOne ? directory : where, origin, bin, python: where};
}

/** The selected environment; without one, those of the workspace and of $VIRTUAL_ENV that exist. */
async function findEnvironments({selected, folders, variables}: Pick<Surroundings, 'selected' | 'folders' | 'variables'>): Promise<Environment[]> {
  const chosen = await selected();
  if (chosen) return [environmentOf(chosen, 'selected in the Python extension')];
  const found = folders.flatMap((folder) => ['.venv', 'venv'].map((directory) => environmentIn(path.join(folder, directory), 'in the workspace')));
  const active = variables['VIRTUAL_ENV'];
  if (active) found.push(environmentIn(active, '$VIRTUAL_ENV'));
  return found.filter(({bin}) => isDirectory(bin));
}

/** The interpreter of the first of them, for the user's own programs; undefined: there is none. */
export async function findPython(surroundings: Pick<Surroundings, 'selected' | 'folders' | 'variables'>): Promise<string | undefined> {
  return (await findEnvironments(surroundings))[0]?.python;
}

/** pip's --user, pipx and uv put programs into ~/.local/bin, which is not on the PATH of each VS Code server. */
function pathCandidates(variables: Surroundings['variables']): Candidate[] {
  const directories = (variables['PATH'] ?? '').split(path.delimiter).filter(Boolean);
  const home = variables['HOME'];
  return [
    ...[...new Set(directories)].map((directory) => ({origin: 'on PATH', file: path.join(directory, program)})),
    ...(home ? [{origin: 'in ~/.local/bin', file: path.join(home, '.local', 'bin', program)}] : []),
  ];
}

function environmentCandidates(environments: readonly Environment[]): Candidate[] {
  return environments.map((environment) => (
    {origin: `Python environment ${environment.name} (${environment.origin})`, file: path.join(environment.bin, program), environment}));
}

function minorOf(version: string): [number, number] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return [major, minor];
}

function compareMinor(version: string, wanted: string): 'fits' | 'older' | 'newer' {
  const [a, b] = [minorOf(version), minorOf(wanted)];
  const order = a[0] - b[0] || a[1] - b[1];
  return order === 0 ? 'fits' : order < 0 ? 'older' : 'newer';
}

/** PyPI's package `raydbg` is another program, whose command has this name: a script of pip's that imports its module. */
function isNamesake(file: string): boolean {
  try {
    const descriptor = fs.openSync(file, 'r');
    const buffer = Buffer.alloc(4096);
    const text = buffer.toString('latin1', 0, fs.readSync(descriptor, buffer));
    fs.closeSync(descriptor);
    return text.startsWith('#!') && /raydbg\.cli|raydbg==/.test(text);
  } catch {
    return false;
  }
}

/** Runs `FILE version`, unless that is known to be another program. */
async function examine(file: string, wanted: string): Promise<Verdict> {
  if (!isExecutable(file)) return fs.existsSync(file) ? {kind: 'broken', why: 'it is no executable file'} : {kind: 'absent'};
  try {
    if (isNamesake(file)) return {kind: 'namesake'};
    const {code, stdout, stderr} = await run(file, ['version'], {});
    const version = /^raydbg (\d+\.\d+\.\d+\S*)/.exec(stdout)?.[1];
    if (code !== 0 || !version) return {kind: 'broken', why: stderr.trim() || (code === 0 ? 'it is another program' : `exit code ${code ?? 'none'}`)};
    return {kind: compareMinor(version, wanted), version};
  } catch (error) {
    return {kind: 'broken', why: error instanceof ProgramError ? error.message : String(error)};
  }
}

/** Tries the candidates in their order until one fits. */
async function tryCandidates(search: Search, candidates: readonly Candidate[]): Promise<void> {
  for (const candidate of candidates) {
    if (search.program) return;
    const verdict = await examine(candidate.file, search.wanted);
    search.tried.push({candidate, verdict});
    if (verdict.kind === 'fits') search.program = {path: candidate.file, version: verdict.version};
  }
}

/**
 * The setting alone if it is set. Else the extension's own program, the Python environment's, and those on PATH; a
 * program of another version is passed over.
 */
export async function searchProgram(surroundings: Surroundings, wanted: string): Promise<Search> {
  const {setting, extensionPath, variables} = surroundings;
  const search: Search = {wanted, tried: []};
  if (setting) {
    await tryCandidates(search, [{origin: 'setting raydbg.path', file: setting}]);
    return search;
  }
  await tryCandidates(search, [{origin: 'in the extension', file: path.join(extensionPath, 'bin', program)}]);
  if (search.program) return search;
  search.environments = await findEnvironments(surroundings);
  await tryCandidates(search, [...environmentCandidates(search.environments), ...pathCandidates(variables)]);
  return search;
}
