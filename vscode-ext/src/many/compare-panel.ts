/** One expression in many tasks: a webview with what each gives. */
import * as vscode from 'vscode';
import {FromPage, Question, ToPage} from './compare-messages';
import {Comparison, csvOf} from './comparison';
import {showError, textOf} from '../base/errors';
import type {Subject} from './many';
import {ManySession, ManySessions} from './many-sessions';
import {openPage} from '../base/page';
import {Turns} from '../base/turns';

/** After a stop this long passes before the tasks are asked again: steps come in bunches. */
const settle = 300;

export class ComparePanel {
  private static readonly open = new Map<string, ComparePanel>();
  private comparison: Comparison | undefined;
  /** The stops that the comparison is of. */
  private asked = '';
  private asking = false;
  private follow = false;
  private timer: NodeJS.Timeout | undefined;
  private ready = false;
  private readonly turns = new Turns();
  private readonly listener: vscode.Disposable;

  private constructor(private readonly panel: vscode.WebviewPanel, private readonly sessions: ManySessions, private readonly many: ManySession,
                      private question: Question, private threadIds: number[] | undefined) {
    this.listener = sessions.onDidChange((one) => one === many && this.look());
    panel.webview.onDidReceiveMessage((message: FromPage) => void this.hear(message));
    panel.onDidDispose(() => this.end());
  }

  /** One panel a session; it is used again. */
  static show(context: vscode.ExtensionContext, sessions: ManySessions, many: ManySession, subject: Subject, expression: string): void {
    const question = {expression, group: subject.threadIds ? '' : subject.group ?? 'all'};
    const known = ComparePanel.open.get(many.session.id);
    if (known) {
      known.panel.reveal(undefined, true);
      void known.ask(question, subject.threadIds);
      return;
    }
    // Beside the editor, which stays the place where VS Code shows the next stop.
    const panel = openPage(context, 'compare', 'Compare', body, {viewColumn: vscode.ViewColumn.Beside, preserveFocus: true});
    ComparePanel.open.set(many.session.id, new ComparePanel(panel, sessions, many, question, subject.threadIds));
  }

  private end(): void {
    clearTimeout(this.timer);
    this.turns.end();
    this.listener.dispose();
    ComparePanel.open.delete(this.many.session.id);
  }

  private async hear(message: FromPage): Promise<void> {
    if (message.kind === 'ready') {
      this.ready = true; // once more if the panel was hidden: its page has forgotten all
      if (this.comparison) this.say({kind: 'comparison', comparison: this.comparison});
      if (this.comparison) this.tell();
      else await this.ask(this.question, this.threadIds);
    }
    if (message.kind === 'ask') {
      this.follow = message.follow;
      await this.ask(message.question, message.question.group ? undefined : this.threadIds);
    }
    if (message.kind === 'follow') {
      this.follow = message.follow;
      this.look();
    }
    if (message.kind === 'csv' && this.comparison) {
      await vscode.env.clipboard.writeText(csvOf(this.comparison));
      vscode.window.setStatusBarMessage('Copied as CSV', 3000);
    }
    if (message.kind === 'focus') await this.focus(message.threadId).catch((error: unknown) => void showError(textOf(error)));
  }

  /** VS Code shows a stop in the group that is active: that is to be another one than the panel's. */
  private async focus(id: number): Promise<void> {
    const editor = vscode.window.visibleTextEditors.find(({viewColumn}) => viewColumn !== undefined && viewColumn !== this.panel.viewColumn);
    if (editor?.viewColumn) await vscode.window.showTextDocument(editor.document, {viewColumn: editor.viewColumn});
    await this.many.focus(id);
  }

  private get subject(): Subject {
    return this.threadIds ? {threadIds: this.threadIds} : {group: this.question.group};
  }

  private get over(): boolean {
    return this.sessions.find(this.many.session.id) === undefined;
  }

  /** Which stops there are: others are asked again. */
  private stops(): string {
    const {many} = this;
    return many.membersOf(this.subject).map((id) => (many.states.isStopped(id) ? many.stops(id) : '-')).join(' ');
  }

  private look(): void {
    if (!this.follow || this.over) {
      this.tell();
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const moved = this.stops() !== this.asked;
      if (moved && this.panel.visible && !this.asking) void this.ask(this.question, this.threadIds);
      else this.tell();
    }, settle);
  }

  private async ask(question: Question, threadIds: number[] | undefined): Promise<void> {
    this.question = question;
    this.threadIds = threadIds;
    this.panel.title = `Compare ${question.expression}`;
    if (!this.ready || this.over) {
      this.tell();
      return;
    }
    this.asking = true;
    this.asked = this.stops();
    this.tell();
    const isLatest = this.turns.take();
    try {
      const comparison = await this.many.compare(this.subject, question.expression);
      if (!isLatest()) return;
      this.comparison = comparison;
      this.say({kind: 'comparison', comparison});
    } catch (error) {
      if (!isLatest()) return;
      this.say({kind: 'problem', text: textOf(error)});
    }
    this.asking = false;
    this.look();
  }

  private tell(): void {
    const {question, follow, asking, over} = this;
    this.say({kind: 'state', question, groups: this.many.groups.map(({name}) => name), follow, asking, over,
      stale: !asking && this.comparison !== undefined && this.stops() !== this.asked});
  }

  private say(message: ToPage): void {
    if (!this.turns.ended) void this.panel.webview.postMessage(message);
  }
}

const body = `<form id="question">
<input id="expression" type="text" aria-label="Expression" placeholder="Expression" spellcheck="false" autocomplete="off">
<label>in <select id="group" aria-label="Group"></select></label>
<button type="submit">Compare</button>
<label><input id="follow" type="checkbox">again after each stop</label>
</form>
<p id="problem" role="alert"></p>
<header>
<h1 id="summary" aria-live="polite"></h1>
<fieldset><legend>Rows by</legend>
<label><input type="radio" name="by" value="value" checked>value</label>
<label><input type="radio" name="by" value="task">task</label>
</fieldset>
<button id="csv" type="button" class="secondary">Copy as CSV</button>
</header>
<dl id="statistics"></dl>
<div id="sparkline" aria-hidden="true"></div>
<p id="only"></p>
<table role="table" aria-labelledby="summary"><thead role="rowgroup"><tr id="heads" role="row"></tr></thead><tbody id="rows" role="rowgroup"></tbody></table>
<p id="state" role="status"></p>`;
