/** What the comparison's page and the extension say to each other. */
import {Comparison} from './comparison';

/** What is compared, and in whom. */
export interface Question {
  expression: string;
  /** A group's name; a list of tasks has none. */
  group: string;
}

export type ToPage =
  /** `groups`: the names that may be asked; `stale`: tasks have moved since. */
  | {kind: 'state'; question: Question; groups: string[]; follow: boolean; asking: boolean; stale: boolean; over: boolean}
  | {kind: 'comparison'; comparison: Comparison}
  | {kind: 'problem'; text: string};

export type FromPage =
  | {kind: 'ready'}
  | {kind: 'ask'; question: Question; follow: boolean}
  | {kind: 'follow'; follow: boolean}
  | {kind: 'csv'}
  | {kind: 'focus'; threadId: number};
