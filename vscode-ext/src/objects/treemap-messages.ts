/** What the treemap's page and the extension say to each other. */
export type TreemapBy = 'call-site' | 'owner';

export interface TreemapItem {
  label: string;
  bytes: number;
  /** `bytes` for people. */
  size: string;
  detail: string;
  /** It has a call site that can be shown. */
  opens: boolean;
}

export type ToPage =
  | {kind: 'items'; by: TreemapBy; total: string; items: TreemapItem[]}
  | {kind: 'problem'; text: string};

export type FromPage = {kind: 'ready'} | {kind: 'by'; by: TreemapBy} | {kind: 'open'; index: number};
