/** The environment that is "selected" is named in the workspace's file .selected; without it none is. */
// @ts-check
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');

/** @typedef {import('@vscode/python-extension').PythonExtension['environments']} Environments */

/** @returns {{environments: Pick<Environments, 'getActiveEnvironmentPath' | 'onDidChangeActiveEnvironmentPath'>}} */
exports.activate = (/** @type {vscode.ExtensionContext} */ context) => {
  const file = path.join(vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '', '.selected');
  const read = () => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : 'python');
  const changed = new vscode.EventEmitter();
  fs.watchFile(file, {interval: 100}, () => changed.fire({id: read(), path: read(), resource: undefined}));
  context.subscriptions.push(changed, {dispose: () => fs.unwatchFile(file)});
  return {environments: {getActiveEnvironmentPath: () => ({id: read(), path: read()}), onDidChangeActiveEnvironmentPath: changed.event}};
};
