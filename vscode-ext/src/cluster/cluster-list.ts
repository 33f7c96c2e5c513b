/** The list of the setting raydbg.clusters, which the user writes. Pure. */
import {ClusterSetting} from './addresses';

/** The cluster that is found on this machine has no address of its own. */
export const LOCAL = 'this machine';

/** Where VS Code keeps a setting's value: the workspace's hides the user's. */
export interface Levels {
  workspaceValue?: unknown;
  globalValue?: unknown;
}

/** A list that takes the place of the one of its level. */
export interface Change {
  list: unknown[];
  workspace: boolean;
}

const texts = ['address', 'relay', 'fingerprint', 'ca'] as const;

function isCluster(value: unknown): value is ClusterSetting {
  if (typeof value !== 'object' || value === null) return false;
  const {name, ...rest} = value as Record<string, unknown>;
  return typeof name === 'string' && name !== '' && texts.every((key) => rest[key] === undefined || typeof rest[key] === 'string');
}

function entriesOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The clusters of a value of any type, and what is wrong with the entries that are not used. `taken`: names that are not free. */
export function readClusters(value: unknown, taken: readonly string[]): {clusters: ClusterSetting[]; problems: string[]} {
  const names = new Set(taken);
  const clusters: ClusterSetting[] = [];
  const problems: string[] = [];
  if (!Array.isArray(value) && value !== undefined) problems.push('it must be a list of {"name": "…", "address": "…"}');
  for (const [index, one] of entriesOf(value).entries()) {
    if (!isCluster(one)) problems.push(`entry ${index + 1} must be {"name": "…", "address": "…"}, all of them texts`);
    else if (names.has(one.name)) problems.push(`entry ${index + 1} has the name of another cluster: ${one.name}`);
    else {
      names.add(one.name);
      clusters.push(one);
    }
  }
  return {clusters, problems};
}

/** The list that counts, and the entry that has the name; -1: none. Entries that are not used stay as they are. */
function find({workspaceValue, globalValue}: Levels, name: string): Change & {index: number} {
  const workspace = workspaceValue !== undefined;
  const list = [...entriesOf(workspace ? workspaceValue : globalValue)];
  return {list, workspace, index: list.findIndex((one) => isCluster(one) && one.name === name)};
}

/** A cluster of the same name is replaced. */
export function withCluster(levels: Levels, setting: ClusterSetting): Change {
  const {list, workspace, index} = find(levels, setting.name);
  list.splice(index < 0 ? list.length : index, index < 0 ? 0 : 1, setting);
  return {list, workspace};
}

/** Undefined: there is none of this name. */
export function withoutCluster(levels: Levels, name: string): Change | undefined {
  const {list, workspace, index} = find(levels, name);
  if (index < 0) return undefined;
  list.splice(index, 1);
  return {list, workspace};
}

/** Clusters of the same address have one token. */
export function tokenName({relay, address}: ClusterSetting): string {
  return relay ?? address ?? LOCAL;
}

/** Whether a cluster of either list, or the one on this machine, has that token. */
export function isTokenUsed({workspaceValue, globalValue}: Levels, token: string): boolean {
  return token === LOCAL || [...entriesOf(workspaceValue), ...entriesOf(globalValue)].some((one) => isCluster(one) && tokenName(one) === token);
}
