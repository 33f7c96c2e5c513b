/** Commands about many tasks: attach to them at once, and what a session over many does with groups. */
import * as vscode from 'vscode';
import {feedOf} from '../cluster/cluster-commands';
import type {Parts} from '../commands';
import {showInformation} from '../base/messages';
import {ComparePanel} from './compare-panel';
import {startMany} from '../session/configuration';
import {GroupNode} from './groups-view';
import {Subject, parseLocation, shortName} from './many';
import {How, Location, ManySession} from './many-sessions';
import {matches} from '../pauses/pause';
import {exactly, filterText} from '../pauses/pause-filter';
import {PauseNode} from '../pauses/pauses-view';
import {pickFilter, pickJob} from '../pauses/pick';
import {StackNode} from './stacks-view';

/** What VS Code gives a row's command. */
type PauseTarget = {data: PauseNode} | undefined;
type Target = {data: GroupNode | StackNode} | undefined;
type Handler = (parts: Parts, target: Target) => unknown;

// --- attach ---

/** All of the row's; without a row all that the view shows. */
export async function attachAll(parts: Parts, target: PauseTarget): Promise<void> {
  if (target?.data.kind === 'group') return startMany(target.data.feed, target.data.filter, target.data.label);
  const feed = await feedOf(parts, target);
  if (!feed) return;
  const words = parts.view.filter;
  const pauses = [...feed.set.pauses.values()].filter((pause) => !words || matches(pause, words));
  if (words && !pauses.length) {
    void showInformation(`No paused task has ${words}.`);
    return;
  }
  const filter = words ? exactly(pauses) : await pickJob(pauses);
  if (filter) await startMany(feed, filter, words ? `tasks with ${words}` : filter.tasks ? 'all tasks' : filterText(filter));
}

export async function attachMatching(parts: Parts, target: PauseTarget): Promise<void> {
  const feed = await feedOf(parts, target);
  const filter = feed && await pickFilter(feed, parts.feeds.onDidChange);
  if (filter) await startMany(feed, filter, filterText(filter));
}

// --- who ---

interface Chosen {
  many: ManySession;
  subject: Subject;
  /** For titles. */
  name: string;
}

/** The row's session, or the current one; that there is none is said. */
function sessionOf({many}: Parts, target: Target): ManySession {
  const data = target?.data;
  const found = data && 'many' in data ? data.many : many.current;
  if (!found) throw new Error('No session over many tasks runs: Attach to All starts one.');
  return found;
}

/** The row's tasks, or those of the group that the user picks; undefined: the user gave up. */
async function subjectOf(parts: Parts, target: Target): Promise<Chosen | undefined> {
  const many = sessionOf(parts, target);
  const data = target?.data;
  if (data?.kind === 'group') return {many, subject: {group: data.group.name}, name: data.group.name};
  if (data?.kind === 'task') return {many, subject: {threadIds: [data.id]}, name: shortName(many.nameOf(data.id))};
  if (data?.kind === 'frame') return {many, subject: {threadIds: data.threadIds}, name: `${data.frame.name} × ${data.threadIds.length}`};
  if (many.groups.length < 2) return {many, subject: {group: 'all'}, name: 'all'};
  const items = many.groups.map(({name, filters, threadIds}) => ({label: name, description: `${threadIds.length}`, detail: filters}));
  const picked = await vscode.window.showQuickPick(items, {title: 'Which group?'});
  return picked && {many, subject: {group: picked.label}, name: picked.label};
}

// --- steps and barriers ---

function step(how: How): Handler {
  return async (parts, target) => {
    const chosen = await subjectOf(parts, target);
    if (chosen) await move(chosen, how);
  };
}

async function move({many, subject, name}: Chosen, how: How, until?: Location): Promise<void> {
  const {threadIds, running} = await many.step(subject, how, until);
  if (!threadIds.length) vscode.window.setStatusBarMessage(running ? `${name}: all are running` : `${name}: nobody is there`, 4000);
}

/** A location is shown short, and meant as the editor's whole path as long as the user leaves it so. */
function cursorLocation(): {text: string; location: Location} | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== 'python') return undefined;
  const {uri} = editor.document;
  const line = editor.selection.active.line + 1;
  const text = `${uri.path.replace(/^.*\//, '')}:${line}`;
  return {text, location: uri.scheme === 'file' ? {path: uri.fsPath, line} : text};
}

async function askLocation(title: string, prompt: string): Promise<{location: Location; timeout?: number} | undefined> {
  const cursor = cursorLocation();
  const text = await vscode.window.showInputBox({
    title, prompt, value: cursor?.text ?? '', placeHolder: 'train.py:57', ignoreFocusOut: true,
    valueSelection: [0, cursor?.text.length ?? 0],
    validateInput: (typed) => (parseLocation(typed) ? undefined : 'FILE:LINE, and --timeout SECONDS if it is to be given up'),
  });
  const parsed = text === undefined ? undefined : parseLocation(text);
  return parsed && cursor && parsed.location === cursor.text ? {...parsed, location: cursor.location} : parsed;
}

async function barrier(parts: Parts, target: Target): Promise<void> {
  const chosen = await subjectOf(parts, target);
  const asked = chosen && await askLocation(`Barrier for ${chosen.name}`, 'All run to this line, and are held there until the last has come. --timeout SECONDS gives it up.');
  if (asked) await chosen.many.startBarrier(chosen.subject, asked.location, asked.timeout);
}

async function until(parts: Parts, target: Target): Promise<void> {
  const chosen = await subjectOf(parts, target);
  const asked = chosen && await askLocation(`Run ${chosen.name} to`, 'Each stops at this line, or at any stop before it.');
  if (asked) await move(chosen, 'continue', asked.location);
}

// --- groups ---

async function askName(filters: string): Promise<string | undefined> {
  return vscode.window.showInputBox({
    title: 'What shall the group be called?', value: filters.replace(/[^\w-]+/g, '-').replace(/^-+|-+$/g, '').toLowerCase(), ignoreFocusOut: true,
    validateInput: (name) => (/^\S+$/.test(name.trim()) ? undefined : 'A word is needed'),
  });
}

async function makeGroup(parts: Parts, target: Target): Promise<void> {
  const many = sessionOf(parts, target);
  const filters = await vscode.window.showInputBox({
    title: 'Which tasks are in the group?', ignoreFocusOut: true, placeHolder: 'Trainer.*',
    prompt: 'Names with * and ?, ranks (0-3,8), KEY=VALUE with rank, task, actor, node, pid, job, state; !FILTER takes away. Tasks that come later are in it, too.',
    validateInput: (text) => (text.trim() ? undefined : 'A filter is needed'),
  });
  const name = filters && await askName(filters);
  if (!name) return;
  const made = await many.makeGroup(name.trim(), {filters: filters.trim().split(/\s+/)});
  vscode.window.setStatusBarMessage(`${made.name}: ${made.threadIds.length} of ${many.members.length} tasks`, 4000);
}

/** Those whose stacks have this frame. */
export async function groupFrame(_: Parts, target: Target): Promise<void> {
  if (target?.data.kind !== 'frame') return;
  const {frame, threadIds, many} = target.data;
  const name = await askName(frame.name);
  if (name) await many.makeGroup(name.trim(), {threadIds});
}

export async function deleteGroup(_: Parts, target: Target): Promise<void> {
  if (target?.data.kind === 'group') await target.data.many.deleteGroup(target.data.group.name);
}

// --- looks ---

async function focusTask(_: Parts, target: Target): Promise<void> {
  if (target?.data.kind === 'task') await target.data.many.focus(target.data.id);
  if (target?.data.kind === 'frame' && target.data.threadIds[0] !== undefined) await target.data.many.focus(target.data.threadIds[0]);
}

async function openFrame({mappings}: Parts, target: Target): Promise<void> {
  if (target?.data.kind === 'frame' && target.data.frame.path !== null) await mappings.open(target.data.frame.path, target.data.frame.line);
}

async function stacks(parts: Parts, target: Target): Promise<void> {
  const chosen = await subjectOf(parts, target);
  if (chosen) await parts.stacks.show(chosen.many, chosen.subject);
}

/** What is selected in the editor, or the word at the cursor. */
function selected(): string {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== 'python') return '';
  const {selection, document} = editor;
  const range = selection.isEmpty ? document.getWordRangeAtPosition(selection.active, /[A-Za-z_][\w.]*/) : selection;
  return range?.isSingleLine ? document.getText(range).trim() : '';
}

/** What VS Code gives a command of the menu of a variable. */
interface VariableTarget {
  sessionId: string;
  variable: {name: string; evaluateName?: string};
}

function isVariable(target: unknown): target is VariableTarget {
  return typeof target === 'object' && target !== null && 'sessionId' in target && 'variable' in target;
}

async function compare(parts: Parts, target: Target | VariableTarget): Promise<void> {
  if (isVariable(target)) {
    const many = parts.many.find(target.sessionId) ?? sessionOf(parts, undefined);
    ComparePanel.show(parts.context, parts.many, many, {}, target.variable.evaluateName ?? target.variable.name);
    return;
  }
  const chosen = await subjectOf(parts, target && 'data' in target ? target : undefined);
  if (!chosen) return;
  const expression = await vscode.window.showInputBox({
    title: `Compare in ${chosen.name}`, value: selected(), placeHolder: 'loss', ignoreFocusOut: true,
    prompt: 'An expression; it is evaluated in each stopped task, in the topmost frame that is not Ray\'s.',
    validateInput: (text) => (text.trim() ? undefined : 'An expression is needed'),
  });
  if (expression) ComparePanel.show(parts.context, parts.many, chosen.many, chosen.subject, expression.trim());
}

export const manyHandlers: Record<string, Handler> = {
  groupNext: step('next'), groupStepIn: step('stepIn'), groupStepOut: step('stepOut'), groupContinue: step('continue'), groupUntil: until,
  barrier, endBarrier: (parts, target) => sessionOf(parts, target).endBarrier(), makeGroup, focusTask, openFrame, compare,
  groupStacks: stacks, refreshStacks: (parts) => parts.stacks.refresh(),
};
