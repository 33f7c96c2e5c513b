/** Runs `raydbg why` and `raydbg stack`, and knows how they are told which cluster. */
import {Cluster} from '../cluster/clusters';
import {Feeds} from '../cluster/feeds';
import {Exit, ProgramError, errorText, run} from '../base/program';
import {OverviewRow, Report} from './report';

/** These commands ask the cluster itself: a relay alone does not lead there. */
export function clusterArgs({name, setting}: Cluster): string[] {
  if (setting.address) return ['--address', setting.address];
  if (setting.relay) throw new ProgramError(`${name}: raydbg why, logs and stack ask the cluster itself: add its "address" (HOST:6379) to raydbg.clusters`);
  return [];
}

/** The commands whose answer is a document. */
export type Verb = 'why' | 'stack';

async function answer(feeds: Feeds, cluster: Cluster, args: string[], verb: Verb = 'why'): Promise<string> {
  const program = await feeds.program();
  const result = await run(program.path, [verb, ...args, ...clusterArgs(cluster)], await cluster.environment());
  if (result.code !== Exit.ok) throw new ProgramError(errorText(result.stderr), result.code);
  return result.stdout;
}

export async function whyReport(feeds: Feeds, cluster: Cluster, name: string): Promise<Report> {
  return JSON.parse(await answer(feeds, cluster, [name, '--format', 'json'])) as Report;
}

/** Without a name: about the whole cluster. */
export function answerText(feeds: Feeds, cluster: Cluster, verb: Verb, name: string): Promise<string> {
  return answer(feeds, cluster, name ? [name] : [], verb);
}

export async function whyOverview(feeds: Feeds, cluster: Cluster): Promise<OverviewRow[]> {
  return (JSON.parse(await answer(feeds, cluster, ['--format', 'json'])) as {rows: OverviewRow[]}).rows;
}
