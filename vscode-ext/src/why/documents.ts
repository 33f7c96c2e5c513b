/** Answers of `raydbg why` and `raydbg stack` as read-only documents; those of `why` have links to the lines that they name. */
import * as vscode from 'vscode';
import {textOf} from '../base/errors';
import {Cluster, Clusters, noCluster} from '../cluster/clusters';
import {Feeds} from '../cluster/feeds';
import {Verb, answerText, whyReport} from './ask';
import {Frame, locationLinks} from './report';

const scheme = 'raydbg-why';

interface Subject {
  verb: Verb;
  cluster: string;
  /** Empty: the whole cluster. */
  name: string;
}

export class WhyDocuments implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly frames = new Map<string, Frame[]>();
  private readonly listeners: vscode.Disposable[];

  constructor(private readonly clusters: Clusters, private readonly feeds: Feeds) {
    this.listeners = [
      vscode.workspace.registerTextDocumentContentProvider(scheme, this),
      vscode.languages.registerDocumentLinkProvider({scheme}, this),
      vscode.workspace.onDidCloseTextDocument(({uri}) => this.frames.delete(uri.toString())),
    ];
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
    this.changed.dispose();
  }

  /** `name` is what the command takes; `label` is what the tab shows. */
  async open(verb: Verb, cluster: Cluster, name: string, label: string): Promise<void> {
    const query = JSON.stringify({verb, cluster: cluster.name, name} satisfies Subject);
    const uri = vscode.Uri.from({scheme, path: `/${verb} ${label.replaceAll('/', ' ')}`.trimEnd(), query});
    this.changed.fire(uri); // an earlier answer may be open
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), {preview: true, viewColumn: vscode.ViewColumn.Active});
  }

  /** Asks again for the document of the active editor. */
  refresh(): void {
    const uri = vscode.window.activeTextEditor?.document.uri;
    if (uri?.scheme === scheme) this.changed.fire(uri);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const {verb, cluster: of, name} = JSON.parse(uri.query) as Subject;
    const cluster = this.clusters.find(of);
    if (!cluster) return `${noCluster(of)}\n`;
    try {
      const [text, frames] = await Promise.all([answerText(this.feeds, cluster, verb, name), this.framesOf(cluster, verb, name)]);
      this.frames.set(uri.toString(), frames);
      return text;
    } catch (error) {
      return `${textOf(error)}\n`;
    }
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const links = locationLinks(document.getText(), this.frames.get(document.uri.toString()) ?? []);
    return links.map(({start, end, file, line}) => {
      const command = `command:raydbg.openFrame?${encodeURIComponent(JSON.stringify([{data: {kind: 'frame', frame: {path: file, line}}}]))}`;
      return new vscode.DocumentLink(new vscode.Range(document.positionAt(start), document.positionAt(end)), vscode.Uri.parse(command));
    });
  }

  private async framesOf(cluster: Cluster, verb: Verb, name: string): Promise<Frame[]> {
    return verb === 'why' && name ? (await whyReport(this.feeds, cluster, name)).frames : [];
  }
}
