/** Where a worker's files are here. Pure but for `exists`. */
export interface PathMapping {
  localRoot: string;
  remoteRoot: string;
}

/** True for a list of mappings: what a user has written may be of any type. */
export function areMappings(value: unknown): value is PathMapping[] {
  return Array.isArray(value) && value.every((one: unknown) => typeof one === 'object' && one !== null
    && typeof (one as PathMapping).localRoot === 'string' && typeof (one as PathMapping).remoteRoot === 'string');
}

/** Directories in which Ray unpacks what a job brings along; what follows is the package's root. */
const packages = /^(.*\/runtime_resources\/(?:working_dir_files|py_modules_files)\/_ray_pkg_[0-9a-f]+)(?:\/|$)/;

/** The root of the package that a worker's file is in, or undefined. */
export function packageRoot(file: string): string | undefined {
  return packages.exec(file.replaceAll('\\', '/'))?.[1];
}

export interface Guess {
  /** One for each folder of the workspace that has the file; more than one is ambiguous. */
  candidates: PathMapping[];
  /** False: the file is here under the very name it has there. */
  needed: boolean;
}

/** By whole names: "/app" is not above "/app2/train.py". */
export function isBelow(file: string, root: string): boolean {
  const whole = root.replace(/[\\/]+$/, '');
  return file === whole || (file.startsWith(whole) && /^[\\/]/.test(file.slice(whole.length)));
}

/** The first mapping that fits the worker's file, as for the debugger: a click and a stop show the same file. */
export function mappingFor(file: string, mappings: readonly PathMapping[]): PathMapping | undefined {
  return mappings.find(({remoteRoot}) => isBelow(file, remoteRoot));
}

/** The file's name here; `file` begins with the mapping's remoteRoot. */
export function toLocal(file: string, mapping: PathMapping): string {
  return `${mapping.localRoot}/${file.slice(mapping.remoteRoot.length).replace(/^\//, '')}`;
}

/**
 * Works out which folder of the workspace is the root that a worker's file came from: the longest tail of its path that
 * exists below a folder. `exists` gets absolute paths of this machine.
 */
export function guessMapping(file: string, folders: readonly string[], exists: (path: string) => boolean): Guess {
  const remote = file.replaceAll('\\', '/');
  const root = packageRoot(remote);
  if (!root && exists(file)) return {candidates: [], needed: false};
  const parts = remote.split('/').filter(Boolean);
  const first = root ? root.split('/').filter(Boolean).length : 0;
  for (let from = first; from < parts.length; from++) {
    const tail = parts.slice(from).join('/');
    const candidates = folders
      .filter((folder) => exists(`${folder}/${tail}`))
      .map((folder) => ({localRoot: folder, remoteRoot: '/' + parts.slice(0, from).join('/')}));
    if (candidates.length) return {candidates, needed: true};
    if (root) break; // a package's root is known: nothing is guessed below it
  }
  return {candidates: [], needed: true};
}
