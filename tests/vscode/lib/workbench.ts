/** One window of VS Code, by what a user sees and clicks. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {type Browser, type BrowserContext, type Locator, type Page, chromium} from 'playwright-core';
import {artifacts, scratch} from './processes.ts';
import {limit, soon, until} from './waits.ts';

export async function browse(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium', headless: true, env: {...process.env, HOME: scratch} as Record<string, string>,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
}

export class Workbench {
  private static readonly windows = new Set<Workbench>();
  readonly page: Page;
  private readonly folder: string;
  private readonly name: string;
  private shots = 0;

  private constructor(page: Page, folder: string, name: string) {
    this.page = page;
    this.folder = folder;
    this.name = name;
  }

  /** `name` begins the names of its screenshots. */
  static async open(browser: Browser, address: string, folder: string, name: string): Promise<Workbench> {
    return Workbench.within(await browser.newContext({viewport: {width: 1400, height: 900}}), address, folder, name);
  }

  /** A window of its own, smaller and twice as fine: what a picture for a page is taken of. */
  static async openFine(browser: Browser, address: string, folder: string, name: string): Promise<Workbench> {
    return Workbench.within(await browser.newContext({viewport: {width: 1200, height: 580}, deviceScaleFactor: 2}), address, folder, name);
  }

  /** A further window of the same browser, which has the same secrets. */
  async another(address: string, folder: string, name: string): Promise<Workbench> {
    return Workbench.within(this.page.context(), address, folder, name);
  }

  private static async within(context: BrowserContext, address: string, folder: string, name: string): Promise<Workbench> {
    const page = await context.newPage();
    page.setDefaultTimeout(limit());
    await page.goto(`${address}/?folder=${encodeURIComponent(folder)}`);
    await page.locator('.monaco-workbench .part.activitybar .action-item').first().waitFor();
    const window = new Workbench(page, folder, name);
    Workbench.windows.add(window);
    return window;
  }

  async close(): Promise<void> {
    Workbench.windows.delete(this);
    await this.page.close();
  }

  /** Keeps a picture of the window as it is. */
  async shot(what: string): Promise<void> {
    fs.mkdirSync(artifacts, {recursive: true});
    const number = String(++this.shots).padStart(2, '0');
    await this.page.screenshot({path: path.join(artifacts, `${this.name}-${number}-${what}.png`)});
  }

  /** A step of a test: if it fails, a picture of each window is kept. */
  static async during(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      for (const window of Workbench.windows) await window.shot('FAILED').catch(() => undefined);
      throw error;
    }
  }

  // --- parts ---

  async show(view: 'Ray Debug' | 'Run and Debug'): Promise<void> {
    await this.page.bringToFront(); // a page behind another one draws once a second
    const item = this.page.locator(`.activitybar .action-item:has(.action-label[aria-label^="${view}"])`);
    await item.waitFor();
    if (!(await item.evaluate((element) => element.classList.contains('checked')))) await item.click();
  }

  /** Shows the panel's views of the cluster. */
  async showCluster(): Promise<void> {
    await this.page.bringToFront();
    await this.page.locator('.activitybar .action-label[aria-label^="Ray Debug"]').waitFor(); // the palette knows of it then, too
    await this.command('Ray Cluster: Focus on Object Store View');
    await this.pane('Object Store').waitFor();
  }

  pane(title: string): Locator {
    return this.page.locator('.pane', {has: this.page.locator(`.pane-header[aria-label^="${title}"]`)});
  }

  async expandPane(title: string, open = true): Promise<void> {
    const header = this.pane(title).locator('.pane-header');
    await header.waitFor();
    const expanded = (await header.getAttribute('aria-expanded')) === 'true';
    if (expanded !== open) await header.locator('.title, h3').first().click();
  }

  row(title: string, text: string | RegExp): Locator {
    return this.pane(title).locator('.monaco-list-row', {hasText: text}).first();
  }

  async rows(title: string): Promise<string[]> {
    const texts = await this.pane(title).locator('.monaco-list-row').allInnerTexts();
    return texts.map((text) => text.replaceAll('\n', ' '));
  }

  /** Clicks a row until what that opens is shown: a click is lost on a row that is drawn anew meanwhile. */
  async openRow(title: string, text: string | RegExp, opened: Locator): Promise<void> {
    await until(async () => {
      await this.row(title, text).click();
      return soon((timeout) => opened.waitFor({timeout}));
    }, `a click on ${text} opens it`);
  }

  /**
   * Follows a link of an editor. Where the link is, is clicked, not the element: VS Code draws it anew when the mouse comes over
   * it with Control, and a click on an element that is drawn anew begins again, without end.
   */
  async follow(link: Locator, done: () => Promise<boolean>, what: string): Promise<void> {
    await until(async () => {
      const box = await link.boundingBox();
      if (!box) return done();
      await this.page.keyboard.down('Control');
      await this.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      await this.page.keyboard.up('Control');
      return soon((timeout) => until(done, what, timeout));
    }, what);
  }

  /**
   * Clicks a button of a row, and once more while VS Code has lost the row by drawing it anew, as far as that is known
   * before `done` is there.
   */
  async rowAction(title: string, text: string | RegExp, action: string, done?: Locator): Promise<void> {
    await this.whileLost(async (lost) => {
      await this.clickAction(title, text, action);
      await done?.or(lost).filter({visible: true}).first().waitFor();
      return Boolean(done) && lost.isVisible();
    });
  }

  /** Does it again while it says that VS Code has lost the row; `lost` is what a user is told then. */
  private async whileLost(act: (lost: Locator) => Promise<boolean>): Promise<void> {
    while (await act(this.toast('nothing was done').first())) await this.command('Notifications: Clear All');
  }

  /** A row's buttons show when the mouse is over it: it is tried once more if the row has moved away meanwhile. */
  private async clickAction(title: string, text: string | RegExp, action: string): Promise<void> {
    const row = this.row(title, text);
    // A row that is still attached, as the view knows it, offers Attach as Observer alone.
    const button = row.locator(`.action-label[aria-label^="${action}"]:not([aria-label^="${action} as "])`);
    await until(async () => {
      // A row that comes to lie under a mouse at rest shows no buttons, and the tooltip of another may cover this one.
      await this.page.mouse.move(700, 300);
      await this.page.locator('.monaco-hover').filter({visible: true}).first().waitFor({state: 'hidden'});
      await row.hover();
      return soon((timeout) => this.hit(button, action, timeout));
    }, `a click on ${action} of ${text}`);
  }

  /** Clicks, and fails unless the element has got the click: one that is drawn anew between press and release gets none. */
  private async hit(button: Locator, action: string, timeout: number): Promise<void> {
    await this.page.evaluate(() => {
      const {body} = document;
      body.removeAttribute('data-clicked');
      document.addEventListener('click', ({target}) => body.setAttribute('data-clicked',
        (target as Element).closest('.action-label')?.getAttribute('aria-label') ?? 'something else'), {capture: true, once: true});
    });
    await button.click({timeout});
    const clicked = await this.page.locator('body[data-clicked]').getAttribute('data-clicked', {timeout});
    assert.ok(clicked?.startsWith(action), `the click on ${action} hit ${clicked}`);
  }

  /** Picks an entry of a row's menu, and once more while VS Code has lost the row by drawing it anew. */
  async menu(title: string, text: string | RegExp, entry: string): Promise<void> {
    const item = this.page.locator('.monaco-menu .action-item', {hasText: entry}).first();
    await this.whileLost(async (lost) => {
      await this.row(title, text).click({button: 'right'});
      await item.waitFor();
      await until(async () => { // VS Code takes no click on a menu that has just opened
        await soon((timeout) => item.click({timeout}));
        return soon((timeout) => item.waitFor({state: 'hidden', timeout}), 0.5);
      }, `a click on ${entry}`);
      return soon((timeout) => lost.waitFor({timeout}), 0.5);
    });
  }

  /** An item of a pick, by what VS Code calls it: a row that it uses again still has the hidden texts of the item before. */
  item(name: string | RegExp): Locator {
    return this.page.locator('.quick-input-list').getByRole('option', {name});
  }

  /**
   * Does something with a part of the palette, or of another pick: false as soon as that is closed. VS Code closes it when
   * something else takes the focus, such as the line of a step.
   */
  private async inQuickInput(part: Locator, act: (timeout: number) => Promise<void>): Promise<boolean> {
    const widget = this.page.locator('.quick-input-widget');
    return soon(async (timeout) => {
      await widget.waitFor({timeout});
      await until(async () => {
        assert.ok(await widget.isVisible(), 'it was closed');
        return part.isVisible();
      }, 'its part is there', timeout);
      await act(limit(1));
    });
  }

  /** Opens what has an input by a key, and fills that in. */
  private async fillIn(key: string, text: string): Promise<void> {
    const input = this.page.locator('.quick-input-widget input').first();
    await until(async () => {
      await this.page.keyboard.press(key);
      return this.inQuickInput(input, (timeout) => input.fill(text, {timeout}));
    }, `the palette for ${text}`);
  }

  async command(title: string): Promise<void> {
    await this.fillIn('F1', `>${title}`);
    await this.page.locator('.quick-input-list .monaco-list-row', {hasText: title}).first().click();
  }

  async moveView(title: string, where: string): Promise<void> {
    await this.command('View: Move View');
    await this.pick(title);
    await this.pick(where);
  }

  /** Moves the border beside a side bar, or above the panel. */
  async drag(border: 'left' | 'right' | 'panel', by: number): Promise<void> {
    const upright = border !== 'panel';
    const part = this.page.locator({left: '.part.sidebar', right: '.part.auxiliarybar', panel: '.part.panel'}[border]);
    const box = await part.boundingBox();
    assert.ok(box);
    const x = border === 'left' ? box.x + box.width : border === 'right' ? box.x - 2 : box.x + box.width / 2;
    const y = upright ? 300 : box.y - 1;
    await this.page.mouse.move(x, y);
    await this.page.locator('.monaco-sash.hover').first().waitFor({state: 'attached'}); // a border takes hold of the mouse after a while
    await this.page.mouse.down();
    for (const part of [0.5, 1]) await this.page.mouse.move(x + (upright ? by * part : 0), y + (upright ? 0 : by * part));
    await this.page.mouse.up();
  }

  /** The box that asks this. */
  box(prompt: string | RegExp): Locator {
    return this.page.locator('.quick-input-widget', {hasText: prompt});
  }

  /** Fills in the box that asks, and confirms. */
  async answer(text: string, prompt: string | RegExp): Promise<void> {
    await this.box(prompt).locator('input.input').first().fill(text);
    await this.page.keyboard.press('Enter');
  }

  async pick(...labels: string[]): Promise<void> {
    for (const label of labels)
      await this.page.locator('.quick-input-list .monaco-list-row', {hasText: label}).locator('.monaco-highlighted-label').first().click();
  }

  /** Ticks the boxes of these rows: a click hits another while the list turns into one of boxes. */
  async tick(...labels: string[]): Promise<void> {
    for (const label of labels) {
      const box = this.page.locator('.quick-input-list .monaco-list-row', {hasText: label}).first().getByRole('checkbox');
      await box.waitFor();
      await until(async () => {
        if (await box.isChecked()) return true;
        await this.pick(label);
        return soon((timeout) => until(() => box.isChecked(), 'it has a tick', timeout));
      }, `the box of ${label} takes a tick`);
    }
    await this.page.locator('.quick-input-widget', {hasText: `${labels.length} Selected`}).waitFor();
  }

  /** What a view says instead of rows. */
  welcome(title: string): Locator {
    return this.pane(title).locator('.welcome-view-content');
  }

  /** A session's row in the call stack that stands somewhere. */
  pausedSession(name: string | RegExp): Locator {
    return this.page.locator('.debug-call-stack .monaco-list-row', {hasText: name}).filter({hasText: /Paused/i});
  }

  toast(text: string | RegExp): Locator {
    return this.page.locator('.notification-toast', {hasText: text});
  }

  /**
   * Opens a file of the window's folder. By its whole path: by its name the list has those that only contain it, too, and a
   * click opens another when VS Code finds more meanwhile (a workspace with a .venv has a plain.pyi).
   */
  async openFile(name: string): Promise<void> {
    const row = this.item(new RegExp(`^${name.replaceAll('.', '\\.')}(?![\\w.])`)).first();
    await until(async () => {
      await this.fillIn('Control+p', path.join(this.folder, name));
      const clicked = await this.inQuickInput(row, (timeout) => row.click({timeout}));
      const opened = async (): Promise<boolean> => (await this.page.title()).startsWith(`${name} - `);
      return soon((timeout) => until(opened, 'its name is the title', timeout), clicked ? 3 : 0.5);
    }, `${name} is open`);
    await this.page.locator('.monaco-editor .view-line').first().waitFor();
  }

  // --- debugging ---

  /** Waits until a yellow line of the editor is the one with this text: each session that stands there has one. */
  async stoppedAt(text: string): Promise<void> {
    const line = this.page.locator('.monaco-editor .debug-top-stack-frame-line').first();
    await line.waitFor({state: 'attached'});
    await this.page.waitForFunction((wanted) => {
      const tops = [...document.querySelectorAll('.monaco-editor .debug-top-stack-frame-line')].map((mark) => mark.getBoundingClientRect().top);
      return [...document.querySelectorAll('.monaco-editor .view-line')].some((shown) =>
        tops.some((top) => Math.abs(shown.getBoundingClientRect().top - top) < 4) && (shown.textContent ?? '').replaceAll('\u00a0', ' ').includes(wanted));
    }, text);
  }

  /** Is there while something is debugged. */
  get toolbar(): Locator {
    return this.page.locator('.debug-toolbar');
  }

  async ended(): Promise<void> {
    await this.toolbar.waitFor({state: 'hidden'});
  }

  async tool(action: string): Promise<void> {
    await this.page.locator(`.debug-toolbar .action-label[aria-label^="${action}"]`).first().click();
  }

  /** A row of the Variables pane: a variable by its name, or a scope by its title. */
  variable(name: string): Locator {
    const plain = name.replace(/[^\w ]/g, '\\$&');
    return this.page.locator('.debug-variables .monaco-list-row', {hasText: new RegExp(`^\\s*${plain}\\s*(=|$)`)}).first();
  }

  async expandVariable(name: string): Promise<void> {
    const row = this.variable(name);
    await row.waitFor();
    if ((await row.getAttribute('aria-expanded')) === 'false') await row.locator('.monaco-tl-twistie').click();
  }

  /** The value of a variable, once it matches. */
  async value(name: string, wanted: RegExp): Promise<string> {
    const row = this.variable(name);
    await row.waitFor();
    let text = '';
    await until(async () => wanted.test(text = await row.innerText()), `${name} is ${wanted}`).catch(() => assert.match(text, wanted));
    return text;
  }

  async evaluate(expression: string): Promise<string> {
    await this.command('Debug Console: Focus on Debug Console View');
    await this.page.locator('.repl-input-wrapper .monaco-editor').first().click();
    await this.page.keyboard.type(expression);
    await this.page.keyboard.press('Enter');
    // The expression, then its result below it.
    const rows = this.page.locator('.repl-tree .monaco-list-row');
    let texts: string[] = [];
    return until(async () => {
      texts = await rows.allInnerTexts();
      const at = texts.map((text) => text.trim()).lastIndexOf(expression);
      return at >= 0 ? (texts[at + 1] ?? '').trim() : '';
    }, `a result of ${expression}`).catch((error: unknown) => { throw new Error(`${String(error)}, among\n${texts.join('\n')}`); });
  }

  /** Clicks into the gutter beside the line with this text, and once more if that has missed an editor that moved. */
  async toggleBreakpoint(text: string, set = true): Promise<void> {
    const line = this.page.locator('.monaco-editor .view-line', {hasText: text}).first();
    const listed = this.page.locator('.debug-breakpoints .monaco-list-row', {hasText: '.py'});
    await until(async () => {
      let box = null;
      while (!box) { // an editor that colours its text draws the line anew: between two of them it has no place
        await line.waitFor({state: 'visible'});
        box = await line.boundingBox();
      }
      const gutter = await this.page.locator('.monaco-editor .margin-view-overlays').first().boundingBox();
      assert.ok(gutter, `no gutter beside ${text}`);
      await this.page.mouse.click(gutter.x + 10, box.y + box.height / 2);
      return soon((timeout) => listed.waitFor({state: set ? 'visible' : 'detached', timeout}));
    }, `the breakpoint at ${text}`);
    await this.page.locator('.monaco-editor .codicon-debug-breakpoint, .monaco-editor .codicon-debug-stackframe').first()
      .waitFor();
  }
}

/** Tests that go on where the one before has ended: none is tried after one has failed. */
export function steps(): (name: string, run: () => Promise<void>) => void {
  let failed = '';
  return (name, run) => {
    test(name, async () => {
      assert.ok(!failed, `not tried, as this failed: ${failed}`);
      failed = name;
      await Workbench.during(run);
      failed = '';
    });
  };
}
