/** Commands that are about a cluster or its relay. */
import * as tls from 'node:tls';
import * as vscode from 'vscode';
import {clusterSetting, relayEndpoint} from './addresses';
import type {Parts, Target} from '../commands';
import {noCluster} from './clusters';
import {Feed} from './feed';
import {commandFix, showError, textOf} from '../base/errors';
import {confirm, showInformation} from '../base/messages';
import {runTask} from '../base/task';
import {forwardPort} from './tasks';

/** That of the row's cluster, the only one, or the one that the user picks; that there is none is said. */
export async function feedOf(parts: Parts, target: Target): Promise<Feed | undefined> {
  if (target) return feedNow(parts, target.data.feed.cluster.name);
  if (!parts.feeds.all.length) void showError('There is no Ray cluster to ask.', commandFix('Add Cluster...', 'raydbg.addCluster'));
  if (parts.feeds.all.length <= 1) return parts.feeds.all[0];
  const items = parts.feeds.all.map((feed) => ({label: feed.cluster.name, feed}));
  return (await vscode.window.showQuickPick(items, {title: 'Which cluster?'}))?.feed;
}

export async function addCluster(parts: Parts): Promise<void> {
  const where = await vscode.window.showInputBox({
    title: 'Add a Ray cluster', ignoreFocusOut: true, placeHolder: 'relay 10.0.0.5:4713',
    prompt: 'HOST:PORT of its GCS, http://HOST:8265 of its dashboard, or "relay" and HOST:PORT, https://HOST:PORT or unix:PATH',
    validateInput: (text) => (text.trim() ? undefined : 'An address is needed'),
  });
  if (!where) return;
  const name = await vscode.window.showInputBox({title: 'What shall it be called?', value: where.trim(), ignoreFocusOut: true});
  if (name) await parts.clusters.add(clusterSetting(name.trim(), where.trim()));
}

/** A row, or a button of a notification, may be of a feed that is over. */
function feedNow({feeds, clusters}: Parts, name: string): Feed | undefined {
  const feed = feeds.find(name);
  if (!feed) void showInformation(clusters.find(name) ? `${name} is not asked at the moment: try again.` : noCluster(name));
  return feed;
}

/** The row's, or the one that the user picks: a single cluster has no row. */
export async function removeCluster(parts: Parts, target: Target): Promise<void> {
  if (target) return parts.clusters.remove(target.data.feed.cluster.name);
  const added = parts.clusters.all.filter((cluster) => cluster.added);
  if (!added.length) void showInformation('No cluster was added.');
  const items = added.map(({name, setting}) => ({label: name, description: setting.relay ?? setting.address ?? ''}));
  const picked = items.length ? await vscode.window.showQuickPick(items, {title: 'Remove which cluster?'}) : undefined;
  if (picked) await parts.clusters.remove(picked.label);
}

export async function setToken(parts: Parts, target: Target): Promise<void> {
  const feed = await feedOf(parts, target);
  if (!feed) return;
  const token = await vscode.window.showInputBox({
    title: `Token of the relay of ${feed.cluster.name}`, password: true, ignoreFocusOut: true,
    prompt: 'On the relay\'s machine it is in ~/.local/state/raydbg/token. It is kept in the secret storage. Empty: forget it.',
  });
  if (token === undefined) return;
  await feed.cluster.setToken(token.trim());
  await parts.feeds.retryOne(feed.cluster.name);
}

/** Runs `raydbg NAME ...` as a task: its terminal shows what it says, and ends it. `target`: what it is about. */
export async function runCommand(parts: Parts, name: string, args: string[], env: Record<string, string>, background: boolean,
                                 target?: string): Promise<void> {
  const program = await parts.feeds.program();
  const label = target === undefined ? name : `${name} ${target}`;
  await runTask(label, {type: 'raydbg', command: name, ...(target === undefined ? {} : {target})}, [program.path, name, ...args], env, background);
}

export async function startRelay(parts: Parts, target: Target): Promise<void> {
  const feed = await feedOf(parts, target);
  if (!feed) return;
  const {address} = feed.cluster.setting;
  await runCommand(parts, 'relay', address ? ['--address', address] : [], {}, true);
  setTimeout(() => parts.feeds.find(feed.cluster.name)?.restart(), 1500); // by then it listens, and is found
}

/** A relay behind SSH or in Kubernetes becomes a cluster of the view. */
export async function forward(parts: Parts): Promise<void> {
  try {
    const opened = await forwardPort();
    if (opened) await parts.clusters.add({name: opened.forward.target, relay: `127.0.0.1:${opened.port}`});
  } catch (error) {
    void showError(textOf(error), commandFix('Show Terminal', 'workbench.action.terminal.focus'));
  }
}

export async function doctor(parts: Parts, target: Target): Promise<void> {
  const feed = await feedOf(parts, target);
  if (!feed) return;
  const {args} = feed.cluster;
  await runCommand(parts, 'doctor', args, await feed.cluster.environment(), false);
}

/** Shows the fingerprint of what answers there, and pins it. */
export async function trustCertificate(parts: Parts, target: Target): Promise<void> {
  const feed = await feedOf(parts, target);
  if (!feed) return;
  const {setting} = feed.cluster;
  const endpoint = setting.relay && relayEndpoint(setting.relay);
  if (!endpoint) {
    void showError(`${setting.name} has no relay with a certificate: its address would begin with https://`);
    return;
  }
  try {
    const fingerprint = await fingerprintOf(endpoint.host, endpoint.port);
    const trusted = await confirm(`Trust the relay ${setting.relay ?? ''} by this certificate?`,
      `${fingerprint}\n\nCompare it with what \`raydbg relay --make-cert\` has printed on its machine.`, 'Trust');
    if (trusted) await parts.clusters.add({...setting, fingerprint});
  } catch (error) {
    void showError(`${setting.relay ?? ''}: ${textOf(error)}`);
  }
}

function fingerprintOf(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({host, port, rejectUnauthorized: false, timeout: 10_000}, () => {
      const {fingerprint256} = socket.getPeerCertificate();
      socket.destroy();
      resolve(`SHA256:${fingerprint256.replaceAll(':', '').toLowerCase()}`);
    });
    socket.on('error', reject);
    socket.on('timeout', () => socket.destroy(new Error('no answer within 10 s')));
  });
}
