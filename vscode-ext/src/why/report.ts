/** What `raydbg why --format json` says; null is unknown. Pure. */

export interface Frame {
  file: string;
  line: number;
  function: string;
  /** Of the user's program, not of Ray or a library. */
  in_program: boolean;
}

export interface Report {
  kind: string;
  id: string | null;
  name: string | null;
  state: string | null;
  since_ms: number | null;
  code: string | null;
  cause: string | null;
  frames: Frame[];
}

/** A row of the answer about the whole cluster. */
export interface OverviewRow {
  kind: string;
  id: string;
  name: string | null;
  state: string;
  count: number;
  cause: string | null;
}

/** Ends that nobody asks about. */
const usual = new Set(['job_over', 'idle', 'out_of_scope', 'exit_actor']);

/** It failed or died, not before `since` (ms). */
export function hasFailed(report: Report, since: number): boolean {
  const ended = report.state === 'failed' || report.state === 'dead';
  return ended && !usual.has(report.code ?? '') && (report.since_ms ?? 0) >= since;
}

/** "load failed: it raised ZeroDivisionError: division by zero (train.py:6)" */
export function failureText(report: Report): string {
  const last = report.frames.filter((frame) => frame.in_program).at(-1);
  const location = last ? ` (${last.file.replace(/^.*\//, '')}:${last.line})` : '';
  return `${report.name ?? report.kind} ${report.state ?? ''}: ${report.cause ?? 'the cause is unknown'}${location}`;
}

export interface LocationLink {
  /** Where the text has it. */
  start: number;
  end: number;
  file: string;
  line: number;
}

/** The locations of a report's text, which shortens paths: `frames` have the whole ones. */
export function locationLinks(text: string, frames: readonly Frame[]): LocationLink[] {
  return [...text.matchAll(/([^\s:]+):(\d+)(?= in )/g)].flatMap((match) => {
    const [whole, file = '', line] = match;
    const frame = frames.find((one) => one.line === Number(line) && (one.file === file || one.file.endsWith(`/${file}`)));
    return frame && frame.file.startsWith('/') ? [{start: match.index, end: match.index + whole.length, file: frame.file, line: frame.line}] : [];
  });
}
