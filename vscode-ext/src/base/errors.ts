/** Errors that the user sees: what happened, and the button that fixes it. */
import * as vscode from 'vscode';
import {plain} from './plain';

export interface Fix {
  label: string;
  run: () => unknown;
}

let log: vscode.LogOutputChannel | undefined;

export function errorsGoTo(channel: vscode.LogOutputChannel): void {
  log = channel;
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For the log only. */
export function logError(error: unknown): void {
  log?.error(textOf(error));
}

/** "Show Log" is always the last button. Resolves when the message is gone. */
export async function showError(text: string, ...fixes: Fix[]): Promise<void> {
  log?.error(text);
  const all = [...fixes, {label: 'Show Log', run: () => log?.show()}];
  const answer = await vscode.window.showErrorMessage(plain(text), ...all.map((fix) => fix.label));
  await all.find((fix) => fix.label === answer)?.run();
}

/** A button that opens the settings at this one, where it can be changed: in a remote window that is not the user's page. */
export function settingsFix(label: string, setting: string): Fix {
  const page = vscode.env.remoteName ? 'workbench.action.openRemoteSettings' : 'workbench.action.openSettings';
  return {label, run: () => vscode.commands.executeCommand(page, {query: `@id:${setting}`})};
}

/** A button that runs one of the extension's commands. */
export function commandFix(label: string, command: string, ...args: unknown[]): Fix {
  return {label, run: () => vscode.commands.executeCommand(command, ...args)};
}
