/** The clusters of the views: the local one, and those of the setting `raydbg.clusters`. */
import * as vscode from 'vscode';
import {ClusterSetting} from './addresses';

/** The one that is found on this machine has no address of its own. */
const LOCAL = 'this machine';

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
    return `raydbg.token.${this.setting.relay ?? this.setting.address ?? LOCAL}`;
  }
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
    const all = this.settings();
    const known = all.some((one) => one.name === setting.name);
    await this.write(known ? all.map((one) => (one.name === setting.name ? setting : one)) : [...all, setting]);
  }

  async remove(name: string): Promise<void> {
    await this.find(name)?.setToken(undefined);
    await this.write(this.settings().filter((other) => other.name !== name));
  }

  dispose(): void {
    this.listener.dispose();
    this.changed.dispose();
  }

  private settings(): ClusterSetting[] {
    return vscode.workspace.getConfiguration('raydbg').get<ClusterSetting[]>('clusters', []);
  }

  private async write(settings: ClusterSetting[]): Promise<void> {
    await vscode.workspace.getConfiguration('raydbg').update('clusters', settings, vscode.ConfigurationTarget.Global);
  }

  private read(): void {
    const local = vscode.workspace.getConfiguration('raydbg').get<boolean>('local', true);
    this.list = [
      ...(local ? [new Cluster({name: LOCAL}, false, this.secrets)] : []),
      ...this.settings().map((setting) => new Cluster(setting, true, this.secrets)),
    ];
  }
}
