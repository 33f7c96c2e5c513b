/** The comparison's page: a table that sorts, with the numbers above it. */
import {Comparison, Line, compareValues, linesOf, statisticsText} from '../many/comparison';
import {FromPage, ToPage} from '../many/compare-messages';
import {part} from './parts';

declare function acquireVsCodeApi(): {postMessage(message: FromPage): void};

const api = acquireVsCodeApi();
const form = part('question', HTMLFormElement);
const expression = part('expression', HTMLInputElement);
const group = part('group', HTMLSelectElement);
const follow = part('follow', HTMLInputElement);
const problem = part('problem', HTMLElement);
const summary = part('summary', HTMLElement);
const csv = part('csv', HTMLButtonElement);
const statistics = part('statistics', HTMLElement);
const sparkline = part('sparkline', HTMLElement);
const only = part('only', HTMLElement);
const heads = part('heads', HTMLTableRowElement);
const rows = part('rows', HTMLTableSectionElement);
const state = part('state', HTMLElement);

type By = 'value' | 'task';

/** A row of either table. */
interface Entry {
  number: number | null;
  text: string;
  type: string;
  count: number;
  share: number;
  who: string;
  rank: number | null;
  name: string;
  outlier: boolean;
  plain: boolean;
  /** What a click on who it is does. */
  act: () => void;
  hint: string;
}

interface Column {
  key: string;
  title: string;
  order: (a: Entry, b: Entry) => number;
  fill: (cell: HTMLElement, entry: Entry) => void;
}

let comparison: Comparison | undefined;
let by: By = 'value';
/** Only the tasks of this group of the comparison's. */
let chosen: number | undefined;
const sorted: Record<By, {key: string; down: boolean}> = {value: {key: 'count', down: true}, task: {key: 'task', down: false}};

function element<K extends keyof HTMLElementTagNameMap>(name: K, text = '', className = ''): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// --- cells ---

function fillValue(cell: HTMLElement, entry: Entry): void {
  cell.append(element('span', entry.text, entry.plain ? 'what' : 'what error'));
  cell.title = entry.type ? `${entry.text}\n${entry.type}` : entry.text;
  if (entry.outlier) cell.append(element('span', 'outlier', 'mark'));
}

function fillCount(cell: HTMLElement, entry: Entry): void {
  const bar = document.createElement('meter');
  bar.max = 1;
  bar.value = entry.share;
  bar.setAttribute('aria-hidden', 'true');
  cell.append(bar, element('span', String(entry.count), 'number'));
}

function fillWho(cell: HTMLElement, entry: Entry): void {
  const button = element('button', entry.who, 'link');
  button.type = 'button';
  button.title = entry.hint;
  button.addEventListener('click', entry.act);
  cell.append(button);
}

const value: Column = {key: 'value', title: 'Value', order: compareValues, fill: fillValue};
const byName = (a: Entry, b: Entry): number => a.name.localeCompare(b.name, undefined, {numeric: true});
const columns: Record<By, Column[]> = {
  value: [
    value,
    {key: 'count', title: 'Tasks', order: (a, b) => a.count - b.count, fill: fillCount},
    {key: 'who', title: 'Which', order: byName, fill: fillWho},
  ],
  task: [
    {key: 'task', title: 'Task', order: (a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity) || byName(a, b), fill: fillWho},
    value,
    {key: 'type', title: 'Type', order: (a, b) => a.type.localeCompare(b.type), fill: (cell, entry) => cell.append(entry.type)},
  ],
};

// --- rows ---

function entriesByValue({groups}: Comparison): Entry[] {
  const largest = Math.max(1, ...groups.map(({count}) => count));
  return groups.map((one, index) => ({
    number: one.number, text: one.value ?? one.error ?? '', type: one.type ?? '', count: one.count, share: one.count / largest, who: one.tasks,
    rank: null, name: one.tasks, outlier: one.outlier, plain: one.error === null, hint: 'Show each of these tasks',
    act: () => choose(index),
  }));
}

function entriesByTask(whole: Comparison): Entry[] {
  return linesOf(whole).filter((line: Line) => chosen === undefined || line.group === chosen).map((line) => ({
    number: line.number, text: line.outcome === 'not asked' ? `not asked: ${line.text}` : line.text, type: line.type, count: 1, share: 1,
    who: line.name, rank: line.rank, name: line.name, outlier: line.outlier, plain: line.outcome === 'value', hint: 'Show this task in the editor',
    act: () => api.postMessage({kind: 'focus', threadId: line.threadId}),
  }));
}

function choose(index: number | undefined): void {
  chosen = index;
  show(index === undefined ? 'value' : 'task');
}

function headOf(column: Column): HTMLElement {
  const {key, down} = sorted[by];
  const head = element('th');
  head.scope = 'col';
  head.setAttribute('role', 'columnheader');
  head.setAttribute('aria-sort', key === column.key ? (down ? 'descending' : 'ascending') : 'none');
  const button = element('button', column.title);
  button.type = 'button';
  button.dataset['key'] = column.key;
  button.addEventListener('click', () => sort(column.key));
  head.append(button);
  return head;
}

function sort(key: string): void {
  const now = sorted[by];
  sorted[by] = {key, down: now.key === key ? !now.down : key === 'count'};
  draw();
  heads.querySelector<HTMLButtonElement>(`button[data-key=${key}]`)?.focus();
}

function rowOf(entry: Entry): HTMLElement {
  const line = element('tr', '', entry.outlier ? 'outlier' : '');
  line.setAttribute('role', 'row'); // a narrow page lays a table out as none, which would be none for screen readers, too
  for (const column of columns[by]) {
    const cell = element('td', '', column.key);
    cell.setAttribute('role', 'cell');
    column.fill(cell, entry);
    line.append(cell);
  }
  return line;
}

function draw(): void {
  if (!comparison) return;
  const {key, down} = sorted[by];
  const column = columns[by].find((one) => one.key === key);
  const entries = by === 'value' ? entriesByValue(comparison) : entriesByTask(comparison);
  if (column) entries.sort((a, b) => (down ? -1 : 1) * column.order(a, b) || byName(a, b));
  heads.replaceChildren(...columns[by].map(headOf));
  rows.replaceChildren(...entries.map(rowOf));
  only.replaceChildren();
  const value = chosen === undefined ? undefined : comparison.groups[chosen];
  if (!value) return;
  const all = element('button', 'Show all', 'link');
  all.type = 'button';
  all.addEventListener('click', () => choose(undefined));
  only.append(`Only the ${value.count} with ${value.value ?? value.error ?? ''} · `, all);
}

function drawNumbers(whole: Comparison): void {
  const {asked, groups} = whole;
  summary.textContent = `${whole.expression} · ${asked} task${asked === 1 ? '' : 's'}, ${groups.length} different`;
  statistics.replaceChildren(...statisticsText(whole).flatMap(([name, text]) => [element('dt', name), element('dd', text)]));
  sparkline.textContent = whole.sparkline ?? '';
  sparkline.title = 'The values in the order of ranks';
}

function show(next: By): void {
  by = next;
  if (by === 'value') chosen = undefined;
  for (const input of document.querySelectorAll<HTMLInputElement>('input[name=by]')) input.checked = input.value === by;
  draw();
}

// --- messages ---

function ask(): void {
  const text = expression.value.trim();
  if (text) api.postMessage({kind: 'ask', question: {expression: text, group: group.value}, follow: follow.checked});
}

function fillGroups(names: readonly string[], now: string): void {
  const all = now ? names : ['', ...names]; // some tasks that are no group
  group.replaceChildren(...all.map((name) => {
    const option = element('option', name || 'these tasks');
    option.value = name;
    return option;
  }));
  group.value = now;
}

function onState(message: Extract<ToPage, {kind: 'state'}>): void {
  if (document.activeElement !== expression) expression.value = message.question.expression;
  if (document.activeElement !== group) fillGroups(message.groups, message.question.group);
  follow.checked = message.follow; // a page that was hidden begins anew
  state.textContent = message.over ? 'The session has ended.' : message.asking ? 'Asking…' : message.stale ? 'Tasks have moved since: Compare asks again.' : '';
  for (const control of form.querySelectorAll<HTMLInputElement>('button, input, select')) control.disabled = message.over;
  document.body.classList.toggle('stale', message.stale || message.over);
}

window.addEventListener('message', ({data: message}: MessageEvent<ToPage>) => {
  if (message.kind === 'state') onState(message);
  problem.textContent = message.kind === 'problem' ? message.text : message.kind === 'comparison' ? '' : problem.textContent;
  if (message.kind !== 'comparison') return;
  if (comparison?.expression !== message.comparison.expression) chosen = undefined;
  ({comparison} = message);
  if (chosen !== undefined && !comparison.groups[chosen]) chosen = undefined;
  drawNumbers(comparison);
  draw();
});

form.addEventListener('submit', (event) => {
  event.preventDefault();
  expression.blur();
  ask();
});
group.addEventListener('change', () => {
  group.blur();
  ask();
});
follow.addEventListener('change', () => api.postMessage({kind: 'follow', follow: follow.checked}));
csv.addEventListener('click', () => api.postMessage({kind: 'csv'}));
for (const input of document.querySelectorAll<HTMLInputElement>('input[name=by]')) input.addEventListener('change', () => show(input.value as By));
api.postMessage({kind: 'ready'});
