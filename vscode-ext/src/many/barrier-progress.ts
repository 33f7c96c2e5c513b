/** A barrier that takes long is a notification, with those who are missing and a button that gives it up. */
import * as vscode from 'vscode';
import {showError, textOf} from '../base/errors';
import {plain} from '../base/plain';
import {Barrier, barrierText} from './many';
import {ManySession, ManySessions} from './many-sessions';

/** A quick one says nothing. */
const patience = 2000;

export class BarrierProgress implements vscode.Disposable {
  private readonly listener: vscode.Disposable;
  /** Of the sessions that have one under way. */
  private readonly shown = new Map<ManySession, Shown>();

  constructor(sessions: ManySessions) {
    this.listener = sessions.onDidChange((many) => this.look(many));
  }

  dispose(): void {
    this.listener.dispose();
    for (const shown of this.shown.values()) shown.end();
  }

  private look(many: ManySession): void {
    const barrier = many.isKnown ? many.barrier : undefined;
    const shown = this.shown.get(many);
    if (barrier?.state === 'waiting') {
      if (shown?.location !== barrier.place) {
        shown?.end();
        this.shown.set(many, new Shown(many, barrier.place));
      }
      this.shown.get(many)?.tell(barrier);
    } else if (shown) {
      this.shown.delete(many);
      shown.end();
      if (barrier?.state === 'timeout')
        void showError(`${many.session.name}: the barrier at ${barrier.place} was given up. ${absent(barrier)} did not come; the others wait there.`);
    }
  }
}

function absent({missing}: Barrier): string {
  return missing.map(({name, what}) => `${name} (${what})`).join(', ');
}

class Shown {
  private text = '';
  private said = '';
  private over = false;
  private progress: vscode.Progress<{message: string}> | undefined;
  private close: () => void = () => undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly many: ManySession, readonly location: string) {
    this.timer = setTimeout(() => this.open(), patience);
  }

  tell(barrier: Barrier): void {
    this.text = plain(barrierText(barrier));
    if (this.text === this.said) return;
    this.said = this.text;
    this.progress?.report({message: this.text});
  }

  end(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.close();
  }

  private open(): void {
    const options = {location: vscode.ProgressLocation.Notification, title: plain(`Barrier ${this.location}`), cancellable: true};
    void vscode.window.withProgress(options, (progress, cancelled) => new Promise<void>((resolve) => {
      this.progress = progress;
      this.close = resolve;
      progress.report({message: this.text});
      cancelled.onCancellationRequested(() => {
        if (!this.over) this.many.endBarrier().catch((error: unknown) => void showError(textOf(error)));
        resolve();
      });
    }));
  }
}
