/** What `raydbg memory --format json --group-by …` says of the object stores. Pure. */

export const objectGroupings = {
  'call-site': 'Call Site', owner: 'Owner', node: 'Node', task: 'Task', actor: 'Actor', job: 'Job',
} as const;
export type ObjectGroupBy = keyof typeof objectGroupings;

export interface StoreNode {
  node_id: string | null;
  ip: string;
  name: string | null;
  problem: string | null;
  store: {used: number; capacity: number; spilled_bytes: number; objects: number};
}

export interface ObjectProcess {
  type: string;
  pid: number;
  ip: string;
  actor_class: string | null;
}

export interface Reference {
  object_ref: string;
  /** Indexes of processes. */
  process: number;
  owner: number | null;
  size: number | null;
  reference_type: string;
  /** Index of call_sites. */
  call_site: number | null;
  task_status: string | null;
}

export interface ReferenceGroup {
  key: string;
  bytes: number;
  objects: number;
  references: number;
  /** Indexes of rows, largest first. */
  rows: number[];
}

export interface Memory {
  nodes: StoreNode[];
  processes: ObjectProcess[];
  call_sites: string[];
  rows: Reference[];
  groups: ReferenceGroup[];
}

export function parseMemory(text: string): Memory {
  const value = JSON.parse(text) as Partial<Memory>;
  const {nodes = [], processes = [], call_sites = [], rows = [], groups = []} = value;
  return {nodes, processes, call_sites, rows, groups};
}

/** "8.0 MB", "12 MB", "100 B": decimal units, as everything of raydbg's. */
export function bytesText(bytes: number | null): string {
  if (bytes === null) return '? B';
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let unit = 0;
  let number = bytes;
  while (number >= 999.5 && unit < units.length - 1) {
    number /= 1000;
    unit++;
  }
  return `${unit && number < 9.95 ? number.toFixed(1) : Math.round(number)} ${units[unit] ?? ''}`;
}

/** "20 of 200 MB" */
export function portion(part: number, whole: number): string {
  const text = bytesText(whole);
  const [, unit = ''] = text.split(' ');
  const scaled = part / 1000 ** Math.max(['B', 'KB', 'MB', 'GB', 'TB', 'PB'].indexOf(unit), 0);
  return `${scaled > 0 && scaled < 9.95 ? scaled.toFixed(1) : Math.round(scaled)} of ${text}`;
}

/** "▰▰▱▱▱" */
export function bar(part: number, whole: number, width = 5): string {
  const full = whole > 0 ? Math.min(width, Math.max(part > 0 ? 1 : 0, Math.round((part / whole) * width))) : 0;
  return '▰'.repeat(full) + '▱'.repeat(width - full);
}

export interface CallSite {
  file: string;
  line: number;
  /** "train.py:21 square" */
  label: string;
}

const rays = /[\\/]site-packages[\\/]ray[\\/]|[\\/]ray[\\/]_private[\\/]/;

/** The first frame that is not Ray's own, as Ray puts frames together; undefined if none was recorded. */
export function callSite(text: string): CallSite | undefined {
  for (const frame of text.split(' | ')) {
    const found = /^(?:\([^)]*\)\s*)?(.+?):([^:]+):(\d+)(?:\s*\([^)]*\))?$/.exec(frame.trim());
    if (!found?.[1] || !found[2] || rays.test(found[1])) continue;
    const line = Number(found[3]);
    return {file: found[1], line, label: `${found[1].replace(/^.*[\\/]/, '')}:${line} ${found[2]}`};
  }
  return undefined;
}

/** How a group is called: a call site by its last frame, everything else by its key. */
export function groupLabel(key: string, by: ObjectGroupBy): string {
  if (by !== 'call-site') return key;
  if (key === 'disabled') return 'call sites were not recorded';
  return callSite(key)?.label ?? key.replace(/^\(([^)]*)\) (\S+)$/, '$2 ($1)');
}

export function processText(process: ObjectProcess | undefined): string {
  if (!process) return 'unknown';
  const kind = process.actor_class ?? (process.type === 'driver' ? 'driver' : '');
  return [kind, `pid ${process.pid}`].filter(Boolean).join(' ') + `@${process.ip}`;
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
