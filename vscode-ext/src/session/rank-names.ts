/** A session of one task is called by its rank once that is known: VS Code shows the session's name instead of its only thread's. */
import * as vscode from 'vscode';
import {DapMessage} from '../many/many';
import {isMany} from '../pauses/pause-filter';

/** raydbg asks the task for its rank when the first stack is asked for; so long is waited for the answer. */
const patience = 500;

class RankName implements vscode.DebugAdapterTracker {
  private asked = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly session: vscode.DebugSession) {}

  onDidSendMessage({command, success, body}: DapMessage): void {
    const [only, ...others] = (command === 'threads' && body?.threads) || [];
    if (only && !others.length && /^rank \d/.test(only.name)) this.session.name = only.name;
    if (command !== 'stackTrace' || !success || this.asked) return;
    this.asked = true;
    this.timer = setTimeout(() => {
      this.session.customRequest('threads').then(undefined, () => undefined); // it may have ended
    }, patience);
  }

  onWillStopSession(): void {
    clearTimeout(this.timer);
  }
}

export class RankNames implements vscode.DebugAdapterTrackerFactory {
  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker | undefined {
    return isMany(session.configuration) ? undefined : new RankName(session);
  }
}
