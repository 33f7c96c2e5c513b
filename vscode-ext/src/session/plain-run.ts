/** A launch without debugging: the same program in a terminal, without raydbg. Pure. */

export interface PlainRun {
  argv: string[];
  cwd: string | undefined;
  env: Record<string, string>;
}

/** A string is one word; undefined: it is no string and no array of strings. */
function wordsOf(value: unknown): string[] | undefined {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) && value.every((word): word is string => typeof word === 'string') ? value : undefined;
}

/** Undefined: it is no object of strings and nulls. */
function variablesOf(value: unknown): [string, string | null][] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  return entries.every((entry): entry is [string, string | null] => typeof entry[1] === 'string' || entry[1] === null) ? entries : undefined;
}

/**
 * Undefined: the configuration names no program, or two, or an attribute is of another type than raydbg takes, which says so
 * (launch_arguments.c). `python` is that of the workspace. The console is not chosen here: it is the integrated terminal.
 */
export function plainRun(configuration: Record<string, unknown>, python: string | undefined): PlainRun | undefined {
  const {program, module, cwd} = configuration;
  const [file, name] = [program, module].map((value) => (typeof value === 'string' && value ? value : undefined));
  const own = wordsOf(configuration['python'] ?? []);
  const args = wordsOf(configuration['args'] === undefined ? [] : configuration['args']);
  const variables = variablesOf(configuration['env'] === undefined ? {} : configuration['env']);
  if ((file === undefined) === (name === undefined) || !own || !args || !variables) return undefined;
  if (cwd !== undefined && typeof cwd !== 'string') return undefined;
  const unset = variables.filter(([, value]) => value === null).flatMap(([key]) => ['-u', key]);
  return {
    argv: [...(unset.length ? ['env', ...unset] : []), ...(own.length ? own : [python ?? 'python3']), ...(file === undefined ? ['-m', name ?? ''] : [file]), ...args],
    cwd: cwd || undefined,
    env: Object.fromEntries(variables.filter((entry): entry is [string, string] => entry[1] !== null)),
  };
}
