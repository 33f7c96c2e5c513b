/** Says why a task failed whose debug session has ended with it. */
import * as vscode from 'vscode';
import {textOf} from '../base/errors';
import {showWarning} from '../base/messages';
import {Cluster} from '../cluster/clusters';
import {Feeds} from '../cluster/feeds';
import {whyReport} from './ask';
import {Report, failureText, hasFailed} from './report';

/** Workers report a task's end to the GCS once a second; a process that dies is noticed later. */
const looks = [1500, 3000];

interface Watched {
  cluster: Cluster;
  task: string;
  since: number;
}

export class Failures implements vscode.Disposable {
  private readonly watched = new Map<string, Watched>();
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly feeds: Feeds, clusterOf: (configuration: vscode.DebugConfiguration) => Cluster | undefined,
              private readonly log: vscode.LogOutputChannel) {
    this.listeners = [
      vscode.debug.onDidStartDebugSession(({id, type, configuration}) => {
        const task = configuration['task'] as string | undefined;
        const cluster = type === 'raydbg' && task ? clusterOf(configuration) : undefined;
        if (cluster && task) this.watched.set(id, {cluster, task, since: Date.now()});
      }),
      vscode.debug.onDidTerminateDebugSession(({id}) => {
        const one = this.watched.get(id);
        this.watched.delete(id);
        if (one && vscode.workspace.getConfiguration('raydbg').get<boolean>('notifyOnFailure', true)) void this.look(one);
      }),
    ];
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  private async look({cluster, task, since}: Watched): Promise<void> {
    try {
      for (const delay of looks) {
        await new Promise((resolve) => setTimeout(resolve, delay));
        const report = await whyReport(this.feeds, cluster, task);
        if (hasFailed(report, since)) {
          await tell(cluster, task, report);
          return;
        }
      }
    } catch (error) {
      this.log.info(`why ${task}: ${textOf(error)}`); // nobody has asked
    }
  }
}

async function tell(cluster: Cluster, task: string, report: Report): Promise<void> {
  const answer = await showWarning(failureText(report), 'Why...', 'Logs...');
  const subject = {cluster, name: report.id ?? task, label: report.name ?? task};
  if (answer === 'Why...') await vscode.commands.executeCommand('raydbg.why', {data: {kind: 'subject', ...subject}});
  if (answer === 'Logs...') await vscode.commands.executeCommand('raydbg.logs', {data: {kind: 'subject', ...subject}});
}
