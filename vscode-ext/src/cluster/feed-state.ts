/** How a cluster's feed is, and what views say of it instead of rows. Pure. */

/** away: it was live, and does not answer at the moment; what was known of it is kept. */
export type FeedState = 'starting' | 'live' | 'away' | 'denied' | 'unreachable' | 'failed';

/** What is told of one cluster. */
export interface Told {
  name: string;
  /** The user has named it; that there is none on this machine is no problem. */
  added: boolean;
  state: FeedState;
  /** Why it is not live. */
  problem: string;
  /** Its pauses. */
  count: number;
}

/** Which of the texts of package.json's viewsWelcome the view shows; "some": it has rows. */
export type ViewState = 'some' | 'empty' | 'starting' | 'certificate' | 'denied' | 'problem' | 'none' | 'broken';

export function isAboutCertificate(problem: string): boolean {
  return /certificate|fingerprint/.test(problem);
}

/** `broken`: there is no program to ask. */
export function viewState(clusters: readonly Told[], broken: boolean): ViewState {
  const [only] = clusters;
  if (broken) return 'broken';
  if (!only) return 'none';
  if (clusters.length > 1 || only.count) return 'some';
  if (only.state === 'live') return 'empty';
  if (only.state === 'starting') return 'starting';
  if (isAboutCertificate(only.problem)) return 'certificate';
  if (only.state === 'denied') return 'denied';
  return isTrouble(only) ? 'problem' : 'none';
}

/** Something is there and does not answer, or raydbg failed: not just that no cluster runs on this machine. */
export function isTrouble({added, state}: Pick<Told, 'added' | 'state'>): boolean {
  return state !== 'live' && state !== 'starting' && (added || state !== 'unreachable');
}

/** Why no pause can be known; "" if one can, or may soon. */
export function troubleText(clusters: readonly Told[]): string {
  if (!clusters.length) return 'No Ray cluster is known';
  if (clusters.some(({state}) => state === 'live' || state === 'starting')) return '';
  const told = clusters.find(isTrouble);
  return told ? `${told.name}: ${told.problem}` : 'No Ray cluster was found on this machine';
}
