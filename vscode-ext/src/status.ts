/** The status bar's count, and one notification when the first task pauses. */
import * as vscode from 'vscode';
import {Choice} from './configuration';
import {pauseKey, pauseTitle, place} from './pause';

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('raydbg.pauses', vscode.StatusBarAlignment.Left, 10);
  private before = new Set<string>();

  constructor() {
    this.item.name = 'Ray Debug';
    this.item.command = 'raydbg.pauses.focus';
  }

  update(pauses: readonly Choice[]): void {
    const now = new Set(pauses.map(({feed, pause}) => `${feed.cluster.name}/${pauseKey(pause)}`));
    this.item.text = `$(debug-pause) ${pauses.length} paused`;
    this.item.tooltip = pauses.slice(0, 20).map(({pause}) => `${pauseTitle(pause)} ${place(pause)}`).join('\n');
    if (pauses.length) this.item.show();
    else this.item.hide();
    const first = pauses[0];
    if (!this.before.size && first && vscode.workspace.getConfiguration('raydbg').get('notifyOnFirstPause', true)) void this.notify(first);
    this.before = now;
  }

  dispose(): void {
    this.item.dispose();
  }

  private async notify(choice: Choice): Promise<void> {
    const where = place(choice.pause);
    const answer = await vscode.window.showInformationMessage(
      `Ray task ${pauseTitle(choice.pause)} is paused${where ? ` at ${where}` : ''} on ${choice.pause.node_ip ?? 'a node'}.`,
      'Attach', 'Show All', "Don't Show Again");
    if (answer === 'Attach') await vscode.commands.executeCommand('raydbg.attach', {kind: 'pause', ...choice});
    if (answer === 'Show All') await vscode.commands.executeCommand('raydbg.pauses.focus');
    if (answer === "Don't Show Again")
      await vscode.workspace.getConfiguration('raydbg').update('notifyOnFirstPause', false, vscode.ConfigurationTarget.Global);
  }
}
