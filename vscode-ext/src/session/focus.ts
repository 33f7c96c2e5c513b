/**
 * Gives the first stop of a session the focus. After one that VS Code focuses by itself, its Variables pane waits for
 * 400 ms whether another follows; not so if it was the user who asked for the focus, as by the command here.
 */
import * as vscode from 'vscode';

/** The frames may reach the window later than the extension: how often they are looked for, and how many ms between. */
const tries = 20;
const spacing = 10;

/** The command has no argument that an extension could give: it means the first session that stands. */
export function mayFocus(): boolean {
  return vscode.debug.activeDebugSession === undefined;
}

/** False if no frame has the focus then. */
export async function focusNow(): Promise<boolean> {
  for (let tried = 0; tried < tries; tried++) {
    await new Promise((resolve) => setTimeout(resolve, tried ? spacing : 0));
    await vscode.commands.executeCommand('workbench.action.debug.focusProcess');
    if (!(vscode.debug.activeStackItem instanceof vscode.DebugStackFrame)) continue;
    if (vscode.workspace.getConfiguration('debug').get<boolean>('focusEditorOnBreak', true))
      await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
    return true;
  }
  return false;
}
