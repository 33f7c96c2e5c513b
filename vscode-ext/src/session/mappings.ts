/** Which folder here is which directory of the worker: given, set, or worked out. */
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import {settingsFix, showError} from '../base/errors';
import {showInformation} from '../base/messages';
import {PathMapping, areMappings, guessMapping, mappingFor, packageRoot, toLocal} from './path-mapping';
import {Pause} from '../pauses/pause';

function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === 'file').map((folder) => folder.uri.fsPath);
}

/** The setting; one of a wrong type is not used. */
function settingOf(folder?: vscode.WorkspaceFolder): PathMapping[] {
  const set = vscode.workspace.getConfiguration('raydbg', folder).get<unknown>('pathMappings', []);
  if (areMappings(set)) return set;
  void showError('raydbg.pathMappings is not used: it must be a list of {"localRoot": "…", "remoteRoot": "…"}.',
    settingsFix('Open Settings', 'raydbg.pathMappings'));
  return [];
}

export class Mappings {
  constructor(private readonly memory: vscode.Memento, private readonly log: vscode.LogOutputChannel) {}

  /** Given ones win (raydbg checks them), then those of the settings; else they are worked out from where the tasks stand. */
  async of(folder: vscode.WorkspaceFolder | undefined, configuration: vscode.DebugConfiguration, pauses: readonly Pause[]):
      Promise<PathMapping[]> {
    if (configuration['pathMappings'] !== undefined) return [];
    const all = [...settingOf(folder)];
    for (const file of new Set(pauses.flatMap(({location}) => (location ? [location.file] : [])))) {
      const worked = mappingFor(file, all) ? undefined : await this.guess(file);
      if (worked) all.push(worked);
    }
    return all;
  }

  /** Shows a line of a worker's file; says so if it is not here. */
  async open(file: string, line: number): Promise<void> {
    const local = await this.localOf(file);
    if (!fs.existsSync(local)) {
      void showInformation(`${file} is not on this machine: attach to see it as the worker has it.`);
      return;
    }
    const position = new vscode.Position(Math.max(line - 1, 0), 0);
    const shown = vscode.window.visibleTextEditors.find(({document}) => document.uri.fsPath === local)?.viewColumn;
    await vscode.window.showTextDocument(vscode.Uri.file(local),
      {selection: new vscode.Range(position, position), preview: true, viewColumn: shown ?? vscode.ViewColumn.Active});
  }

  /** By the setting if the file is there, else worked out. */
  private async localOf(file: string): Promise<string> {
    const given = mappingFor(file, settingOf());
    if (given && fs.existsSync(toLocal(file, given))) return toLocal(file, given);
    const mapping = await this.guess(file);
    return mapping ? toLocal(file, mapping) : file;
  }

  private async guess(file: string): Promise<PathMapping | undefined> {
    const {candidates} = guessMapping(file, folders(), (path) => fs.existsSync(path));
    const chosen = candidates.length > 1 ? await this.ask(file, candidates) : candidates[0];
    if (chosen) this.log.info(`files of ${chosen.remoteRoot} are those of ${chosen.localRoot}`);
    return chosen;
  }

  /** Several folders have the file: one question, and the answer is remembered. */
  private async ask(file: string, candidates: PathMapping[]): Promise<PathMapping | undefined> {
    const key = `mapping:${file.slice(packageRoot(file)?.length ?? 0)}`;
    const known = this.memory.get<string>(key);
    const remembered = candidates.find((one) => one.localRoot === known);
    if (remembered) return remembered;
    const picked = await vscode.window.showQuickPick(candidates.map((one) => ({label: one.localRoot, one})),
      {title: `Which folder does the worker's ${file.replace(/^.*\//, '')} come from?`, placeHolder: file});
    if (picked) await this.memory.update(key, picked.one.localRoot);
    return picked?.one;
  }
}
