/** Changes settings of the extension. */
import * as vscode from 'vscode';

/** Where the value that counts is: the user's would change nothing that can be seen where the workspace has its own. */
export async function updateSetting(name: string, value: unknown): Promise<void> {
  const configuration = vscode.workspace.getConfiguration('raydbg');
  const ofWorkspace = configuration.inspect(name)?.workspaceValue !== undefined;
  await configuration.update(name, value, ofWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global);
}
