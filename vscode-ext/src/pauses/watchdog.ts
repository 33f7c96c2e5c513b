/** Warns of pauses that near the time-outs of their program: a collective's, a health check's. */
import * as vscode from 'vscode';
import {age, isNear, pauseKey, pauseTitle} from './pause';
import {Choice, Pauses} from './pick';
import {showWarning} from '../base/messages';
import {updateSetting} from '../base/settings';

/** How often the ages are looked at. */
const tick = 5000;

/** Seconds after which time-outs strike; 0: none do. */
export function pauseLimit(): number {
  return vscode.workspace.getConfiguration('raydbg').get('pauseLimit', 600);
}

export class Watchdog implements vscode.Disposable {
  private readonly ticker: NodeJS.Timeout;
  /** The pauses that were spoken of. */
  private told = new Map<string, Choice>();

  constructor(private readonly pauses: Pauses) {
    this.ticker = setInterval(() => this.look(), tick);
  }

  dispose(): void {
    clearInterval(this.ticker);
  }

  /** Each pause is spoken of once, those of one moment together. */
  private look(): void {
    const now = Date.now();
    const near = new Map(this.pauses.pauses.filter(({feed, pause}) => isNear(feed.set.standsSince(pause), pauseLimit(), now))
      .map((choice) => [`${choice.feed.cluster.name}/${pauseKey(choice.pause)}/${choice.pause.task_id ?? ''}`, choice]));
    const fresh = [...near].filter(([key]) => !this.told.has(key)).map(([, choice]) => choice);
    this.told = new Map([...[...this.told].filter(([, {feed, pause}]) => feed.set.awaits(pause)), ...near]);
    if (fresh[0]) void warn(fresh[0], fresh.length - 1, now);
  }
}

async function warn({feed, pause}: Choice, others: number, now: number): Promise<void> {
  const more = others ? ` and ${others} more` : '';
  const answer = await showWarning(
    `${pauseTitle(pause)}${more}: paused for ${age(feed.set.standsSince(pause) ?? null, now)}. What waits for it may soon give up: collectives and health checks ` +
    `have time-outs (raydbg.pauseLimit: ${age(0, pauseLimit() * 1000)}).`, 'Attach', 'Show All', "Don't Warn Again");
  if (answer === 'Attach') await vscode.commands.executeCommand('raydbg.attach', {data: {kind: 'pause', feed, pause}});
  if (answer === 'Show All') await vscode.commands.executeCommand('raydbg.pauses.focus');
  if (answer === "Don't Warn Again") await updateSetting('pauseLimit', 0);
}
