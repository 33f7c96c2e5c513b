/** Asks which of the paused tasks. */
import * as vscode from 'vscode';
import {Feed} from './feed';
import {Pause, pauseDescription, pauseKey, pauseTitle} from './pause';
import {PauseFilter, filterMatches, filterText, parseFilter, widen} from './pause-filter';
import {plural} from './objects';

export interface Choice {
  feed: Feed;
  pause: Pause;
}

export interface Pauses {
  readonly pauses: readonly Choice[];
  readonly onDidChange: vscode.Event<void>;
}

interface TaskItem extends vscode.QuickPickItem {
  choice: Choice;
}

function taskItem(choice: Choice): TaskItem {
  const {pause, feed} = choice;
  return {
    label: `$(debug-pause) ${pauseTitle(pause)}`,
    description: pauseDescription(pause, Date.now()),
    detail: [pause.task_id, `pid ${pause.pid ?? '?'}`, feed.cluster.added ? feed.cluster.name : ''].filter(Boolean).join(' · '),
    choice,
  };
}

function keyOf(item: TaskItem): string {
  return `${item.choice.feed.cluster.name}/${pauseKey(item.choice.pause)}`;
}

/** Undefined if the user gave up. The list follows the cluster while it is open. `what` is done with the task. */
export function pickTasks(pauses: Pauses, many: boolean, what = 'Attach to'): Promise<Choice[] | undefined> {
  const pick = vscode.window.createQuickPick<TaskItem>();
  pick.title = many ? `${what} paused Ray tasks` : `${what} a paused Ray task`;
  pick.canSelectMany = many;
  pick.matchOnDescription = pick.matchOnDetail = true;
  let shown = '';
  const fill = (): void => {
    const items = pauses.pauses.map(taskItem);
    const now = items.map((item) => `${keyOf(item)} ${item.label} ${item.description ?? ''}`).join('\n');
    pick.busy = items.length === 0;
    pick.placeholder = items.length ? 'Type to filter by name, node, state or line' : 'No task is paused: waiting for a breakpoint()…';
    if (now === shown) return;
    shown = now;
    const chosen = new Set(pick.selectedItems.map(keyOf));
    const active = new Set(pick.activeItems.map(keyOf));
    pick.items = items;
    pick.selectedItems = items.filter((item) => chosen.has(keyOf(item)));
    if (active.size) pick.activeItems = items.filter((item) => active.has(keyOf(item)));
  };
  fill();
  return new Promise((resolve) => {
    const listener = pauses.onDidChange(fill);
    pick.onDidAccept(() => {
      const items = many && pick.selectedItems.length ? pick.selectedItems : pick.activeItems;
      if (!items.length) return;
      resolve(items.map((item) => item.choice));
      pick.hide();
    });
    pick.onDidHide(() => {
      listener.dispose();
      pick.dispose();
      resolve(undefined);
    });
    pick.show();
  });
}

/** What is typed is a filter: the first item says how many tasks it means at the moment, those below are they. */
function filterItems(feed: Feed, typed: string): vscode.QuickPickItem[] {
  const pauses = [...feed.set.pauses.values()];
  const filter = widen(parseFilter(typed), pauses);
  const found = pauses.filter((pause) => filterMatches(filter, pause));
  const label = found.length ? `$(debug-alt) Attach to ${plural(found.length, 'task')} of ${pauses.length}` : `$(debug-alt) Attach to none of ${plural(pauses.length, 'task')} yet`;
  // Their names are no labels: items whose label has what is typed would go in front of the first.
  const shown = found.map((pause): vscode.QuickPickItem =>
    ({label: '$(debug-pause)', description: `${pauseTitle(pause)} · ${pauseDescription(pause, Date.now())}`, alwaysShow: true}));
  return [{label, description: filterText(filter), detail: 'Those that match and pause later join', alwaysShow: true}, ...shown];
}

/** Undefined if the user gave up. The count follows the cluster. */
export function pickFilter(feed: Feed, changed: vscode.Event<void>): Promise<PauseFilter | undefined> {
  const pick = vscode.window.createQuickPick();
  pick.title = 'Attach to matching Ray tasks';
  pick.placeholder = 'Trainer.* node=10.0.0.7 job=01 actor=bob: names with * and ?, and what tasks must be of';
  let shown = '';
  const fill = (): void => {
    const items = filterItems(feed, pick.value);
    const now = items.map(({label, description}) => `${label} ${description ?? ''}`).join('\n');
    if (now === shown) return;
    shown = now;
    pick.items = items;
  };
  fill();
  return new Promise((resolve) => {
    const listener = changed(fill);
    pick.onDidChangeValue(fill);
    pick.onDidAccept(() => {
      resolve(widen(parseFilter(pick.value), [...feed.set.pauses.values()]));
      pick.hide();
    });
    pick.onDidHide(() => {
      listener.dispose();
      pick.dispose();
      resolve(undefined);
    });
    pick.show();
  });
}
