/** The clusters of the views: the local one, and those of the setting `raydbg.clusters`. */
import * as vscode from 'vscode';
import {ClusterSetting} from './addresses';
import {Change, LOCAL, Levels, isTokenUsed, readClusters, tokenName, withCluster, withoutCluster} from './cluster-list';
import {settingsFix, showError} from '../base/errors';

export class Cluster {
  constructor(readonly setting: ClusterSetting, readonly added: boolean, private readonly secrets: vscode.SecretStorage) {}

  get name(): string {
    return this.setting.name;
  }

  /** What tells raydbg which cluster and which relay. */
  get args(): string[] {
    const {address, relay, fingerprint, ca} = this.setting;
    return [
      ...(address ? ['--address', address] : []),
      ...(relay ? ['--relay', relay] : []),
      ...(fingerprint ? ['--relay-fingerprint', fingerprint] : []),
      ...(ca ? ['--relay-ca', ca] : []),
    ];
  }

  /** The token goes by the environment: never by an argument, a setting or a log. */
  async environment(): Promise<Record<string, string>> {
    const token = await this.secrets.get(this.secretKey);
    return token ? {RAYDBG_TOKEN: token} : {};
  }

  async setToken(token: string | undefined): Promise<void> {
    if (token) await this.secrets.store(this.secretKey, token);
    else await this.secrets.delete(this.secretKey);
  }

  private get secretKey(): string {
    return `raydbg.token.${tokenName(this.setting)}`;
  }
}

/** Of one that was removed while something was shown of it. */
export function noCluster(name: string): string {
  return `There is no cluster "${name}" any more.`;
}

/** Follows the settings. */
export class Clusters implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private list: Cluster[] = [];
  private readonly listener: vscode.Disposable;

  constructor(private readonly secrets: vscode.SecretStorage) {
    this.read();
    this.listener = vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration('raydbg.clusters') && !event.affectsConfiguration('raydbg.local')) return;
      this.read();
      this.changed.fire();
    });
  }

  get all(): readonly Cluster[] {
    return this.list;
  }

  find(name: string): Cluster | undefined {
    return this.list.find((cluster) => cluster.name === name);
  }

  /** One of the same name is replaced. */
  async add(setting: ClusterSetting): Promise<void> {
    await this.write(withCluster(this.levels, setting));
  }

  /** The token goes with the last cluster that has it. */
  async remove(name: string): Promise<void> {
    const cluster = this.find(name);
    const change = withoutCluster(this.levels, name);
    if (!cluster || !change) return;
    await this.write(change);
    if (!isTokenUsed(this.levels, tokenName(cluster.setting))) await cluster.setToken(undefined);
  }

  dispose(): void {
    this.listener.dispose();
    this.changed.dispose();
  }

  private get levels(): Levels {
    return vscode.workspace.getConfiguration('raydbg').inspect('clusters') ?? {};
  }

  private async write({list, workspace}: Change): Promise<void> {
    await vscode.workspace.getConfiguration('raydbg')
      .update('clusters', list, workspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global);
  }

  private read(): void {
    const configuration = vscode.workspace.getConfiguration('raydbg');
    const local = configuration.get<boolean>('local', true);
    const {clusters, problems} = readClusters(configuration.get<unknown>('clusters'), local ? [LOCAL] : []);
    if (problems.length) void showError(`raydbg.clusters: ${problems.join('; ')}`, settingsFix('Edit Clusters', 'raydbg.clusters'));
    this.list = [
      ...(local ? [new Cluster({name: LOCAL}, false, this.secrets)] : []),
      ...clusters.map((setting) => new Cluster(setting, true, this.secrets)),
    ];
  }
}
