/** Asks which of the paused tasks. */
import * as vscode from 'vscode';
import {Feed} from '../cluster/feed';
import {Pause, isAttached, jobsOf, newestFirst, pauseDescription, pauseKey, pauseTitle, shortJob, twinTitles} from './pause';
import {PauseFilter, exactly, filterTest, filterText, parseFilter, widen} from './pause-filter';
import {Coalesced} from '../base/coalesced';
import {plural} from '../objects/objects';

/** Changes within this time, in milliseconds, fill a list once. */
const coalesce = 100;

export interface Choice {
  feed: Feed;
  pause: Pause;
}

export interface Pauses {
  readonly pauses: readonly Choice[];
  /** Why no pause can be known; "": one can, or may soon. */
  readonly trouble: string;
  readonly onDidChange: vscode.Event<void>;
}

/** Something else that can be done. */
export interface OtherItem extends vscode.QuickPickItem {
  act: () => unknown;
}

interface TaskItem extends vscode.QuickPickItem {
  /** Undefined: the item does something else. */
  choice: Choice | undefined;
  act?: () => unknown;
}

const several: TaskItem = {label: '$(checklist) Choose several...', alwaysShow: true, choice: undefined};

/** Without a row Enter would do nothing, and nobody would know why. */
function troubleItem(trouble: string): TaskItem {
  return {label: `$(warning) ${trouble}`, detail: 'Enter shows what can be done', alwaysShow: true, choice: undefined,
    act: () => vscode.commands.executeCommand('raydbg.pauses.focus')};
}

/** What the user most likely wants comes first: Enter takes it. */
function taskItems(choices: readonly Choice[]): TaskItem[] {
  const pauses = choices.map(({pause}) => pause);
  const twins = twinTitles(pauses);
  const jobs = jobsOf(pauses).length;
  const order = (a: Choice, b: Choice): number => Number(isAttached(a.pause)) - Number(isAttached(b.pause)) || newestFirst(a.pause, b.pause);
  return [...choices].sort(order).map((choice) => {
    const {pause, feed} = choice;
    const job = jobs > 1 && pause.job_id ? `job ${shortJob(pause.job_id)}` : '';
    return {
      label: `$(${isAttached(pause) ? 'debug-alt' : 'debug-pause'}) ${pauseTitle(pause)}`,
      description: [job, pauseDescription(pause, Date.now(), twins.has(pauseTitle(pause)))].filter(Boolean).join(' · '),
      detail: [pause.task_id, `pid ${pause.pid ?? '?'}`, feed.cluster.added ? feed.cluster.name : ''].filter(Boolean).join(' · '),
      choice,
    };
  });
}

/** What a list of so many tasks offers beside them. */
function otherItems(count: number, many: boolean, trouble: string, others: readonly OtherItem[]): TaskItem[] {
  return [
    ...(many && count > 1 ? [several] : []),
    ...(!count && trouble ? [troubleItem(trouble)] : []),
    ...others.map((other): TaskItem => ({...other, choice: undefined})),
  ];
}

function keyOf({choice, label}: TaskItem): string {
  return choice ? `${choice.feed.cluster.name}/${pauseKey(choice.pause)}` : label;
}

/**
 * Undefined if the user gave up or chose one of `others`. The list follows the cluster while it is open. `what` is done
 * with the task. `many`: several may be chosen, after the user has asked for that: a list of boxes has no row that Enter
 * would take.
 */
export function pickTasks(pauses: Pauses, many: boolean, what = 'Attach to', others: readonly OtherItem[] = []): Promise<Choice[] | undefined> {
  const pick = vscode.window.createQuickPick<TaskItem>();
  pick.title = `${what} a paused Ray task`;
  pick.matchOnDescription = pick.matchOnDetail = true;
  let shown = '';
  let ticked = false;
  const fill = (): void => {
    const tasks = taskItems(pauses.pauses);
    const {trouble} = pauses;
    const items = pick.canSelectMany ? tasks : [...tasks, ...otherItems(tasks.length, many, trouble, others)];
    // A box that is ticked while the items are set anew loses its tick: with boxes only what comes and goes counts, and
    // once one is ticked the list stands still.
    if (ticked) return;
    const look = (item: TaskItem): string => (pick.canSelectMany ? '' : ` ${item.label} ${item.description ?? ''}`);
    const now = [pick.canSelectMany, ...items.map((item) => keyOf(item) + look(item))].join('\n');
    pick.busy = !tasks.length && !trouble;
    pick.placeholder = tasks.length ? 'Type to filter by name, node, state or line' : trouble ? '' : 'No task is paused: waiting for a breakpoint()…';
    if (now === shown) return;
    shown = now;
    const active = new Set(pick.activeItems.filter(({choice}) => choice).map(keyOf)); // a task that pauses comes before the others
    pick.items = items;
    if (active.size) pick.activeItems = items.filter((item) => active.has(keyOf(item)));
  };
  const chooseSeveral = (): void => {
    pick.title = `${what} paused Ray tasks`;
    pick.value = '';
    pick.canSelectMany = true;
    fill();
  };
  fill();
  return new Promise((resolve) => {
    const filling = new Coalesced(fill, coalesce);
    const listener = pauses.onDidChange(() => filling.call());
    pick.onDidChangeSelection((items) => {
      ticked = pick.canSelectMany && items.some(({choice}) => choice);
    });
    pick.onDidAccept(() => {
      const items = pick.canSelectMany ? pick.selectedItems : pick.activeItems;
      const choices = items.flatMap(({choice}) => choice ?? []);
      if (items.includes(several)) chooseSeveral();
      const act = items[0]?.act;
      if (act) {
        pick.hide();
        void act();
      }
      if (!choices.length) return;
      resolve(choices);
      pick.hide();
    });
    pick.onDidHide(() => {
      listener.dispose();
      filling.end();
      pick.dispose();
      resolve(undefined);
    });
    pick.show();
  });
}

/** Which job's tasks are meant, where there are several; undefined: the user gave up. */
export async function pickJob(pauses: readonly Pause[]): Promise<PauseFilter | undefined> {
  const jobs = jobsOf(pauses);
  const names = (own: readonly Pause[]): string => [...new Set(own.map(pauseTitle))].slice(0, 5).join(', ');
  const [first] = jobs;
  if (jobs.length <= 1) return first?.job ? {job: first.job} : {tasks: ['*']};
  const items = jobs.map(({job, pauses: own}) => ({
    label: `$(briefcase) ${job ? `job ${shortJob(job)}` : 'no job known'}`, description: plural(own.length, 'task'), detail: names(own),
    filter: job ? {job} : exactly(own),
  }));
  const all = {label: `$(run-all) all ${jobs.length} jobs`, description: plural(pauses.length, 'task'), detail: 'Those that pause later join, of whatever job', filter: {tasks: ['*']}};
  return (await vscode.window.showQuickPick([...items, all], {
    title: 'Attach to all tasks of which job?', placeHolder: 'Disconnect lets all of them go on, unless a relay holds them',
  }))?.filter;
}

/** What is typed is a filter: the first item says how many tasks it means at the moment, those below are they. */
function filterItems(feed: Feed, typed: string): vscode.QuickPickItem[] {
  const pauses = [...feed.set.pauses.values()];
  const filter = widen(parseFilter(typed), pauses);
  const found = pauses.filter(filterTest(filter));
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
    const filling = new Coalesced(fill, coalesce);
    const listener = changed(() => filling.call());
    pick.onDidChangeValue(fill);
    pick.onDidAccept(() => {
      resolve(widen(parseFilter(pick.value), [...feed.set.pauses.values()]));
      pick.hide();
    });
    pick.onDidHide(() => {
      listener.dispose();
      filling.end();
      pick.dispose();
      resolve(undefined);
    });
    pick.show();
  });
}
