/** The treemap of the object store: a webview that draws what this side reads. */
import * as vscode from 'vscode';
import {logError, textOf} from '../base/errors';
import {Clusters, noCluster} from '../cluster/clusters';
import {Feeds} from '../cluster/feeds';
import {bytesText, callSite, groupLabel, plural} from './objects';
import {objectsInterval, readMemory} from './objects-view';
import {Poller} from '../base/poller';
import {FromPage, TreemapBy, TreemapItem, ToPage} from './treemap-messages';
import {openPage} from '../base/page';
import {Turns} from '../base/turns';

/** Smaller ones are one box together. */
const most = 60;

export class TreemapPanel {
  private by: TreemapBy = 'call-site';
  private readonly poller: Poller;
  private readonly turns = new Turns();
  private items: (TreemapItem & {key: string})[] = [];

  /** `cluster`: its name, as its address and its certificate may change while the panel is open. */
  constructor(private readonly panel: vscode.WebviewPanel, private readonly feeds: Feeds, private readonly clusters: Clusters,
              private readonly cluster: string, private readonly openSite: (file: string, line: number) => Promise<void>) {
    this.poller = new Poller(() => this.ask(), objectsInterval, logError);
    panel.webview.onDidReceiveMessage((message: FromPage) => void this.hear(message));
    panel.onDidChangeViewState(() => (this.poller.looking = panel.visible));
    panel.onDidDispose(() => {
      this.poller.looking = false;
      this.turns.end();
    });
  }

  static open(context: vscode.ExtensionContext, feeds: Feeds, clusters: Clusters, cluster: string, openSite: (file: string, line: number) => Promise<void>): void {
    new TreemapPanel(openPage(context, 'treemap', 'Object Store', body), feeds, clusters, cluster, openSite);
  }

  private async hear(message: FromPage): Promise<void> {
    if (message.kind === 'ready') this.poller.looking = true;
    if (message.kind === 'by') {
      this.by = message.by;
      this.poller.now();
    }
    if (message.kind === 'open') {
      const site = callSite(this.items[message.index]?.key ?? '');
      if (site) await this.openSite(site.file, site.line);
    }
  }

  private async ask(): Promise<void> {
    const {by} = this;
    const isLatest = this.turns.take();
    try {
      const cluster = this.clusters.find(this.cluster);
      if (!cluster) throw new Error(noCluster(this.cluster));
      const {groups} = await readMemory(this.feeds, cluster, by);
      if (!isLatest() || by !== this.by) return;
      const filled = groups.filter((group) => group.bytes > 0).sort((a, b) => b.bytes - a.bytes);
      const rest = filled.slice(most).reduce((sum, group) => sum + group.bytes, 0);
      this.items = filled.slice(0, most).map((group) => ({
        key: by === 'call-site' ? group.key : '', label: groupLabel(group.key, by), bytes: group.bytes, size: bytesText(group.bytes),
        detail: plural(group.references, 'reference'), opens: by === 'call-site' && callSite(group.key) !== undefined,
      }));
      if (rest) this.items.push({key: '', label: `${filled.length - most} smaller ones`, bytes: rest, size: bytesText(rest), detail: '', opens: false});
      this.say({kind: 'items', by, total: bytesText(filled.reduce((sum, group) => sum + group.bytes, 0)),
        items: this.items.map(({label, bytes, size, detail, opens}) => ({label, bytes, size, detail, opens}))});
    } catch (error) {
      this.say({kind: 'problem', text: textOf(error)});
    }
  }

  private say(message: ToPage): void {
    if (!this.turns.ended) void this.panel.webview.postMessage(message);
  }
}

const body = `<header>
<h1 id="total">Object Store</h1>
<fieldset><legend>Size by</legend>
<label><input type="radio" name="by" value="call-site" checked>call site</label>
<label><input type="radio" name="by" value="owner">owner</label>
</fieldset>
</header>
<p id="problem" role="status"></p>
<p id="empty" role="status">Asking what is in the object store…</p>
<svg id="map" role="list" aria-label="Object store by size"></svg>
<p id="chosen" role="status">Arrow keys choose a box, Enter opens its call site.</p>`;
