/** Processes with a terminal: tasks of type "raydbg". */
import * as vscode from 'vscode';

/** Runs in the background, or in a terminal that shows itself. */
export async function runTask(name: string, definition: vscode.TaskDefinition, argv: readonly string[], env: Record<string, string>,
                              background: boolean, cwd?: string): Promise<void> {
  const task = makeTask(name, definition, vscode.TaskScope.Workspace, argv, env, cwd);
  task.isBackground = background;
  task.presentationOptions = {reveal: background ? vscode.TaskRevealKind.Silent : vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Dedicated};
  await vscode.tasks.executeTask(task);
}

export function makeTask(name: string, definition: vscode.TaskDefinition, scope: vscode.TaskScope | vscode.WorkspaceFolder,
                         [program = '', ...args]: readonly string[], env: Record<string, string> = {}, cwd?: string): vscode.Task {
  return new vscode.Task(definition, scope, name, 'raydbg', new vscode.ProcessExecution(program, args, {env, ...(cwd ? {cwd} : {})}), []);
}
