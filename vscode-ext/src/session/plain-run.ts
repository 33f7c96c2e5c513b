/** A launch without debugging: the same program in a terminal, without raydbg. Pure. */

export interface PlainRun {
  argv: string[];
  cwd: string | undefined;
  env: Record<string, string>;
}

function wordsOf(value: unknown): string[] {
  return typeof value === 'string' ? [value] : Array.isArray(value) ? value.map(String) : [];
}

/** Undefined: the configuration names no program, or two. `python` is that of the workspace. */
export function plainRun(configuration: Record<string, unknown>, python: string | undefined): PlainRun | undefined {
  const {program, module, cwd} = configuration;
  const [file, name] = [program, module].map((value) => (typeof value === 'string' && value ? value : undefined));
  if ((file === undefined) === (name === undefined)) return undefined;
  const own = wordsOf(configuration['python']);
  const interpreter = own.length ? own : [python ?? 'python3'];
  const entries = Object.entries((configuration['env'] ?? {}) as Record<string, unknown>);
  const unset = entries.filter(([, value]) => value === null).flatMap(([key]) => ['-u', key]);
  return {
    argv: [...(unset.length ? ['env', ...unset] : []), ...interpreter, ...(file === undefined ? ['-m', ...wordsOf(name)] : [file]), ...wordsOf(configuration['args'])],
    cwd: typeof cwd === 'string' && cwd ? cwd : undefined,
    env: Object.fromEntries(entries.filter(([, value]) => value !== null).map(([key, value]) => [key, String(value)])),
  };
}
