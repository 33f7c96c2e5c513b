/** The status bar's count, and one notification when the first task pauses. */
import * as vscode from 'vscode';
import {locationText, pauseTitle} from './pause';
import {Choice} from './pick';
import {showInformation} from '../base/messages';
import {updateSetting} from '../base/settings';

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('raydbg.pauses', vscode.StatusBarAlignment.Left, 10);
  private told = false;

  constructor() {
    this.item.name = 'Ray Debug';
    this.item.command = 'raydbg.pauses.focus';
  }

  update(pauses: readonly Choice[]): void {
    this.item.text = `$(debug-pause) ${pauses.length} paused`;
    this.item.tooltip = pauses.slice(0, 20).map(({pause}) => `${pauseTitle(pause)} ${locationText(pause)}`).join('\n');
    if (pauses.length) this.item.show();
    else this.item.hide();
    // A pause shows before its name does; it is told with its name.
    const first = pauses.find(({pause}) => pause.task_name !== null);
    if (!pauses.length) this.told = false;
    else if (first && !this.told) {
      this.told = true;
      if (pauses.some(({feed, pause}) => feed.set.remembers(pause))) return;
      if (vscode.workspace.getConfiguration('raydbg').get<boolean>('notifyOnFirstPause', true)) void notify(first);
    }
  }

  dispose(): void {
    this.item.dispose();
  }
}

async function notify(choice: Choice): Promise<void> {
  const {pause} = choice;
  const where = locationText(pause);
  const answer = await showInformation(
    `Ray task ${pauseTitle(pause)} is paused${where ? ` at ${where}` : ''} on ${pause.node_ip ?? 'a node'}.`,
    'Attach', 'Show All', "Don't Show Again");
  if (answer === 'Attach') await vscode.commands.executeCommand('raydbg.attach', {data: {kind: 'pause', ...choice}});
  if (answer === 'Show All') await vscode.commands.executeCommand('raydbg.pauses.focus');
  if (answer === "Don't Show Again") await updateSetting('notifyOnFirstPause', false);
}
