/** The commands *Why...*, *Logs...* and *Stack...*, of the palette and of rows. */
import * as vscode from 'vscode';
import {feedOf, runCommand} from '../cluster/cluster-commands';
import {Cluster} from '../cluster/clusters';
import {Parts} from '../commands';
import {pauseTask, pauseTitle} from '../pauses/pause';
import {PauseNode} from '../pauses/pauses-view';
import {clusterArgs, whyOverview} from './ask';

/** Something that has a name in a cluster. */
export interface Subject {
  cluster: Cluster;
  /** What `raydbg why` takes; empty: the whole cluster. */
  name: string;
  /** What the user knows it by. */
  label: string;
}

export type SubjectTarget = {data: PauseNode | ({kind: 'subject'} & Subject)} | undefined;

interface SubjectItem extends vscode.QuickPickItem {
  subject?: Omit<Subject, 'cluster'>;
}

/** What waits or has failed, the paused tasks, and whatever the user types. */
async function pickSubject(parts: Parts, title: string, whole?: string): Promise<Subject | undefined> {
  const feed = await feedOf(parts, undefined);
  if (!feed) return undefined;
  const {cluster} = feed;
  const rows = await vscode.window.withProgress({location: vscode.ProgressLocation.Window, title: 'Ray: reading the cluster'},
    () => whyOverview(parts.feeds, cluster));
  const items: SubjectItem[] = [
    ...(whole ? [{label: '$(server) the whole cluster', description: whole, subject: {name: '', label: ''}}] : []),
    ...rows.map(({id, name, kind, state, cause}) => ({label: name ?? `${kind} ${id}`, description: state, detail: cause ?? '', subject: {name: id, label: name ?? id}})),
    ...[...feed.set.pauses.values()].map((pause) => ({label: pauseTitle(pause), description: 'paused', subject: {name: pauseTask(pause), label: pauseTitle(pause)}})),
  ];
  const subject = await pickOrType(items, title);
  return subject && {cluster, ...subject};
}

/** The list, with what is typed as its last row. */
function pickOrType(items: SubjectItem[], title: string): Promise<Omit<Subject, 'cluster'> | undefined> {
  const pick = vscode.window.createQuickPick<SubjectItem>();
  pick.title = title;
  pick.placeholder = 'A task, an actor, PID@NODE, a node, a job, a placement group or an object: its name, or its id\'s beginning';
  pick.matchOnDescription = pick.matchOnDetail = true;
  pick.items = items;
  pick.onDidChangeValue((value) => {
    const typed = value.trim();
    pick.items = typed ? [...items, {label: typed, description: 'what has this name', alwaysShow: true, subject: {name: typed, label: typed}}] : items;
  });
  return new Promise((resolve) => {
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.subject);
      pick.hide();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
  });
}

async function subjectOf(parts: Parts, target: SubjectTarget, title: string, whole?: string): Promise<Subject | undefined> {
  if (target?.data.kind === 'subject') return target.data;
  if (target?.data.kind === 'pause') {
    const {feed, pause} = target.data;
    return {cluster: feed.cluster, name: pauseTask(pause), label: pauseTitle(pause)};
  }
  return pickSubject(parts, title, whole);
}

async function why(parts: Parts, target: SubjectTarget): Promise<void> {
  const subject = await subjectOf(parts, target, 'Why did it fail, or why does it wait?', 'what waits, and what has failed');
  if (subject) await parts.documents.open('why', subject.cluster, subject.name, subject.label);
}

/** Lines of each file that are shown of the time before. */
const tail = '500';

/** In a terminal: it follows, has the program's colours, and ends with ^C. */
async function logs(parts: Parts, target: SubjectTarget): Promise<void> {
  const subject = await subjectOf(parts, target, 'Whose output?');
  if (!subject) return;
  const {cluster, name, label} = subject;
  await runCommand(parts, 'logs', [name, '--tail', tail, '--follow', ...clusterArgs(cluster)], await cluster.environment(), false, label);
}

async function stack(parts: Parts, target: SubjectTarget): Promise<void> {
  const subject = await subjectOf(parts, target, 'Where is it?', 'where everything that runs is');
  if (subject) await parts.documents.open('stack', subject.cluster, subject.name, subject.label);
}

export const whyHandlers = {why, logs, stack, refreshWhy: ({documents}: Parts): void => documents.refresh()};
