/** The environment that the user has selected in the Python extension, where that is installed. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type {PythonExtension} from '@vscode/python-extension';
import {textOf} from '../base/errors';

/** Its start includes a search for interpreters. */
const patience = 10_000;

export class SelectedEnvironment implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fires once path() has been asked. */
  readonly onDidChange = this.changed.event;
  private listener: vscode.Disposable | undefined;

  constructor(private readonly log: vscode.LogOutputChannel) {}

  /** An environment's directory or its interpreter; undefined without the Python extension, or if it has no answer. */
  async path(): Promise<string | undefined> {
    const extension = vscode.extensions.getExtension<PythonExtension>('ms-python.python');
    if (!extension) {
      this.log.info('the Python extension (ms-python.python) is not installed: it has no environment to offer');
      return undefined;
    }
    try {
      const {environments} = await inTime(extension.activate());
      this.listener ??= environments.onDidChangeActiveEnvironmentPath(() => this.changed.fire());
      const found = environments.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]).path;
      return path.isAbsolute(found) ? found : undefined; // "python" if none is selected
    } catch (error) {
      this.log.warn(`the Python extension does not say which environment is selected: ${textOf(error)}`);
      return undefined;
    }
  }

  dispose(): void {
    this.listener?.dispose();
    this.changed.dispose();
  }
}

async function inTime<T>(promise: Thenable<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${patience / 1000} s`)), patience);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
