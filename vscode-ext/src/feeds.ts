/** The feeds of all clusters, and the program that gives them. */
import * as vscode from 'vscode';
import {Clusters} from './cluster';
import {Choice, Pauses} from './configuration';
import {Feed} from './feed';
import {Program, ProgramError, findProgram} from './program';

export class Feeds implements Pauses, vscode.Disposable {
  all: Feed[] = [];
  private readonly changed = new vscode.EventEmitter<void>();
  /** Something about some pause or some feed changed. */
  readonly onDidChange = this.changed.event;
  private found: Promise<Program> | undefined;
  private readonly listeners: vscode.Disposable[] = [];

  constructor(private readonly clusters: Clusters, private readonly context: vscode.ExtensionContext,
              private readonly log: vscode.LogOutputChannel) {
    this.listeners.push(
      clusters.onDidChange(() => void this.restart()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restart()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (!event.affectsConfiguration('raydbg.path')) return;
        this.found = undefined;
        void this.restart();
      }));
    void this.restart();
  }

  get pauses(): readonly Choice[] {
    return this.all.flatMap((feed) => [...feed.set.pauses.values()].map((pause) => ({feed, pause})));
  }

  /** Found once; after a failure looked for again. */
  async program(): Promise<Program> {
    const setting = vscode.workspace.getConfiguration('raydbg').get('path', '');
    const wanted = (this.context.extension.packageJSON as {version: string}).version;
    this.found ??= findProgram(setting, this.context.extensionPath, wanted);
    try {
      return await this.found;
    } catch (error) {
      this.found = undefined;
      throw error;
    }
  }

  async restart(): Promise<void> {
    this.stop();
    if (!vscode.workspace.isTrusted) {
      await vscode.commands.executeCommand('setContext', 'raydbg.state', 'untrusted');
      return;
    }
    try {
      const program = await this.program();
      this.stop();
      this.all = this.clusters.all.map((cluster) => new Feed(cluster, program, this.log));
      for (const feed of this.all) feed.onDidChange(() => this.changed.fire());
    } catch (error) {
      await this.tell(error);
    }
    this.changed.fire();
  }

  dispose(): void {
    this.stop();
    for (const listener of this.listeners) listener.dispose();
    this.changed.dispose();
  }

  private stop(): void {
    for (const feed of this.all) feed.dispose();
    this.all = [];
  }

  private async tell(error: unknown): Promise<void> {
    const text = error instanceof ProgramError ? error.message : String(error);
    this.log.error(text);
    const answer = await vscode.window.showErrorMessage(`Ray Debug cannot run raydbg: ${text}`, 'Set Path...', 'Show Log');
    if (answer === 'Set Path...') await vscode.commands.executeCommand('workbench.action.openSettings', 'raydbg.path');
    if (answer === 'Show Log') this.log.show();
  }
}
