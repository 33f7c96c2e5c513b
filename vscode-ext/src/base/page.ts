/** A webview of the extension's: a page with one script and the styles of its name, and nothing from anywhere else. */
import {randomBytes} from 'node:crypto';
import * as vscode from 'vscode';

/** `name`: of dist/NAME-page.js and media/NAME.css. `body` is HTML, and holds nothing of the user's. */
export function openPage(context: vscode.ExtensionContext, name: string, title: string, body: string,
                         column: {viewColumn: vscode.ViewColumn; preserveFocus?: boolean} = {viewColumn: vscode.ViewColumn.Active}): vscode.WebviewPanel {
  const [scripts, styles] = ['dist', 'media'].map((directory) => vscode.Uri.joinPath(context.extensionUri, directory)) as [vscode.Uri, vscode.Uri];
  const panel = vscode.window.createWebviewPanel(`raydbg.${name}`, title, column, {enableScripts: true, localResourceRoots: [scripts, styles]});
  const {webview} = panel;
  const nonce = randomBytes(16).toString('hex');
  const address = (directory: vscode.Uri, file: string): string => webview.asWebviewUri(vscode.Uri.joinPath(directory, file)).toString();
  webview.html = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'">
<link rel="stylesheet" href="${address(styles, 'page.css')}">
<link rel="stylesheet" href="${address(styles, `${name}.css`)}">
<title>${title}</title>
</head>
<body>
${body}
<script nonce="${nonce}" src="${address(scripts, `${name}-page.js`)}"></script>
</body>
</html>`;
  return panel;
}
