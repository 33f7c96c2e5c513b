/** The program of this window: found once, looked for again when something has changed. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import {Fix, commandFix, settingsFix, showError} from '../base/errors';
import {Kept} from '../base/kept';
import {Program, ProgramError} from '../base/program';
import {runTask} from '../base/task';
import {installCommand, installTarget, searchLines, searchProblem} from './report';
import {Search, findPython, searchProgram} from './search';
import {SelectedEnvironment} from './selected-environment';

export class Finder implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** The next search may find another program. */
  readonly onDidChange = this.changed.event;
  private readonly selected: SelectedEnvironment;
  private readonly kept = new Kept(() => this.find(), ({program}) => program !== undefined && fs.existsSync(program.path));
  /** The newest search that has ended. */
  private last: Search | undefined;
  private readonly listeners: {dispose(): unknown}[];

  constructor(private readonly context: vscode.ExtensionContext, private readonly log: vscode.LogOutputChannel) {
    this.selected = new SelectedEnvironment(log);
    this.listeners = [
      this.selected,
      this.selected.onDidChange(() => this.again()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.again()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.again()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('raydbg.path')) this.again();
      }),
      vscode.tasks.onDidEndTaskProcess(({execution, exitCode}) => {
        if (execution.task.definition['command'] === 'install' && execution.task.definition.type === 'raydbg' && exitCode === 0) this.again();
      }),
    ];
  }

  /** Searches again if the last search found none, or its program is gone. */
  async program(): Promise<Program> {
    const search = (this.last = await this.kept.get());
    if (search.program) return search.program;
    throw new ProgramError(searchProblem(search, process.platform) ?? '');
  }

  /** A program that was found may have been removed since, as with its Python environment. True if so: another is looked for. */
  lost(): boolean {
    if (!this.last?.program || fs.existsSync(this.last.program.path)) return false;
    this.again();
    return true;
  }

  /** The interpreter that the workspace's programs run with; undefined if it has none. */
  async python(): Promise<string | undefined> {
    return findPython(this.surroundings);
  }

  /** Tells the user that there is no program, with the button that gets it. */
  async tell(problem: string): Promise<void> {
    const fixes: Fix[] = this.last && installTarget(this.last) ? [commandFix('Install', 'raydbg.install')] : [];
    await showError(`Ray Debug: ${problem}`, ...fixes, settingsFix('Set Path...', 'raydbg.path'));
  }

  /** Installs raydbg into the environment, in a terminal; where there is none, opens the setting. */
  async install(): Promise<void> {
    const search = this.last ?? (await this.find());
    const target = installTarget(search);
    if (!target) {
      await settingsFix('', 'raydbg.path').run();
      return;
    }
    const argv = installCommand(target, search.wanted);
    this.log.info(argv.join(' '));
    await runTask('install raydbg', {type: 'raydbg', command: 'install'}, argv, {}, false);
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
    this.changed.dispose();
  }

  private get setting(): string {
    return vscode.workspace.getConfiguration('raydbg').get('path', '');
  }

  private get surroundings(): {selected: () => Promise<string | undefined>; folders: string[]; variables: NodeJS.ProcessEnv} {
    const folders = vscode.workspace.workspaceFolders?.filter(({uri}) => uri.scheme === 'file').map(({uri}) => uri.fsPath) ?? [];
    return {selected: () => this.selected.path(), folders, variables: process.env};
  }

  /** Answers name further commands ("raydbg logs ca80f3a8"): the terminals find the extension's own program, after any other. */
  private offer({path: file}: Program): void {
    const {environmentVariableCollection: variables, extensionPath} = this.context;
    variables.description = 'The raydbg of Ray Debug';
    if (file.startsWith(extensionPath + path.sep))
      variables.append('PATH', path.delimiter + path.dirname(file), {applyAtProcessCreation: true, applyAtShellIntegration: true});
    else variables.clear();
  }

  private again(): void {
    this.kept.forget();
    this.changed.fire();
  }

  private async find(): Promise<Search> {
    if (!vscode.workspace.isTrusted) throw new ProgramError('this workspace is not trusted: nothing in it is run');
    const {version} = this.context.extension.packageJSON as {version: string};
    const search = await searchProgram({setting: this.setting, extensionPath: this.context.extensionPath, ...this.surroundings}, version);
    for (const line of searchLines(search)) this.log.info(line);
    if (search.program) this.offer(search.program);
    return search;
  }
}
