/** Notifications: the only place that shows them, except errors.ts. Texts are plain: names and errors of the user's program are in them. */
import * as vscode from 'vscode';
import {plain} from './plain';

/** Resolves with the button that was pressed. */
export async function showInformation(text: string, ...buttons: string[]): Promise<string | undefined> {
  return vscode.window.showInformationMessage(plain(text), ...buttons);
}

export async function showWarning(text: string, ...buttons: string[]): Promise<string | undefined> {
  return vscode.window.showWarningMessage(plain(text), ...buttons);
}

/** A dialog that waits for its answer. */
export async function confirm(text: string, detail: string, button: string): Promise<boolean> {
  return (await vscode.window.showWarningMessage(plain(text), {modal: true, detail}, button)) === button;
}
