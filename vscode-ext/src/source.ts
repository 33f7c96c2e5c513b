/** Opens the line that a task stands at. */
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import {guessMapping} from './pathMapping';

export async function openSource(file: string, line: number): Promise<boolean> {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === 'file').map((one) => one.uri.fsPath);
  const guess = guessMapping(file, folders, fs.existsSync);
  const mapping = guess.candidates[0];
  const local = mapping ? mapping.localRoot + file.slice(mapping.remoteRoot === '/' ? 0 : mapping.remoteRoot.length) : file;
  if (!fs.existsSync(local)) {
    void vscode.window.showInformationMessage(`${file} is not on this machine: attach to see it as the worker has it.`);
    return false;
  }
  const position = new vscode.Position(Math.max(line - 1, 0), 0);
  await vscode.window.showTextDocument(vscode.Uri.file(local), {selection: new vscode.Range(position, position), preview: true});
  return true;
}
