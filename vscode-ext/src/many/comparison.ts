/** What `raydbg/compare` answers (docs/many.md). Pure. */

export interface Value {
  count: number;
  value: string | null;
  error: string | null;
  type: string | null;
  /** Null if it is none, or not finite. */
  number: number | null;
  /** In words. */
  tasks: string;
  outlier: boolean;
  threadIds: number[];
}

export interface Answer {
  threadId: number;
  rank: number | null;
  name: string;
  value: string | null;
  error: string | null;
  outlier: boolean;
}

export interface Comparison {
  expression: string;
  asked: number;
  groups: Value[];
  statistics: {count: number; nan: number; inf: number; min: number | null; max: number | null; mean: number | null; median: number | null} | null;
  sparkline: string | null;
  values: Answer[];
  notAsked: {threadId: number; rank: number | null; name: string; why: string}[];
}

/** One line of the table in which each task has its own. */
export interface Line {
  threadId: number;
  rank: number | null;
  name: string;
  /** Of the value among the comparison's groups; -1: it was not asked. */
  group: number;
  text: string;
  type: string;
  outcome: 'value' | 'error' | 'not asked';
  outlier: boolean;
  number: number | null;
}

export function linesOf(comparison: Comparison): Line[] {
  const groups = new Map(comparison.groups.flatMap((group, index) => group.threadIds.map((id) => [id, index] as const)));
  const asked = comparison.values.map(({threadId, rank, name, value, error, outlier}): Line => {
    const index = groups.get(threadId) ?? -1;
    const group = comparison.groups[index];
    return {threadId, rank, name, group: index, text: value ?? error ?? '', type: group?.type ?? '', outcome: error === null ? 'value' : 'error',
      outlier, number: group?.number ?? null};
  });
  const others = comparison.notAsked.map(({threadId, rank, name, why}): Line =>
    ({threadId, rank, name, group: -1, text: why, type: '', outcome: 'not asked', outlier: false, number: null}));
  return [...asked, ...others];
}

function cell(text: string | number | null): string {
  const plain = String(text ?? '');
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** The same columns as those of `/compare --format csv`. */
export function csvOf(comparison: Comparison): string {
  const lines = linesOf(comparison).map(({threadId, rank, name, outcome, text, type, outlier}) =>
    [threadId, rank, name, outcome, text, type, outlier ? 'yes' : 'no'].map(cell).join(','));
  return ['thread,rank,task,outcome,value,type,outlier', ...lines].map((line) => `${line}\n`).join('');
}

/** Numbers by size and in front of everything else; texts by letter, with the numbers in them by size. */
export function compareValues(a: {number: number | null; text: string}, b: {number: number | null; text: string}): number {
  if (a.number !== null && b.number !== null) return a.number - b.number;
  if (a.number !== null || b.number !== null) return a.number !== null ? -1 : 1;
  return a.text.localeCompare(b.text, undefined, {numeric: true});
}

function shortNumber(number: number): string {
  return String(Number(number.toPrecision(6)));
}

/** "min 0.69 · max 1e+30 · mean 4.3e+28 · NaN 1"; "" if there are no numbers. */
export function statisticsText({statistics}: Comparison): [string, string][] {
  if (!statistics) return [];
  const {min, max, mean, median, nan, inf} = statistics;
  const numbers: [string, number | null][] = [['min', min], ['max', max], ['mean', mean], ['median', median]];
  return [...numbers.filter((pair): pair is [string, number] => pair[1] !== null).map(([name, number]): [string, string] => [name, shortNumber(number)]),
    ...(nan ? [['NaN', String(nan)] as [string, string]] : []), ...(inf ? [['Inf', String(inf)] as [string, string]] : [])];
}
