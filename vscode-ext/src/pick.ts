/** Asks which of the paused tasks. */
import * as vscode from 'vscode';
import {Feed} from './feed';
import {Pause, pauseDescription, pauseKey, pauseTitle} from './pause';

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

/** Undefined if the user gave up. The list follows the cluster while it is open. */
export function pickTasks(pauses: Pauses, many: boolean): Promise<Choice[] | undefined> {
  const pick = vscode.window.createQuickPick<TaskItem>();
  pick.title = many ? 'Attach to paused Ray tasks' : 'Attach to a paused Ray task';
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
