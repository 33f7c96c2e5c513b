/** A tree of rows, and what has changed from one to the next. Pure. */

export interface Row<T> {
  /** Unique in its tree, and the same for the same thing. */
  readonly id: string;
  data: T;
  /** Everything that is shown of the row itself: rows with the same face look the same. */
  face: string;
  children: Row<T>[];
  parent: Row<T> | undefined;
}

export function row<T>(id: string, data: T, face: string, children: Row<T>[] = []): Row<T> {
  const made: Row<T> = {id, data, face, children, parent: undefined};
  for (const child of children) child.parent = made;
  return made;
}

function sameIds<T>(one: readonly Row<T>[], other: readonly Row<T>[]): boolean {
  return one.length === other.length && one.every((item, index) => item.id === other[index]?.id);
}

function count<T>(rows: readonly Row<T>[], into: Map<string, Row<T>>): Map<string, Row<T>> {
  for (const item of rows) {
    into.set(item.id, item);
    count(item.children, into);
  }
  return into;
}

/**
 * The rows that take the place of `old`: those which stay are the same objects, so that a view keeps what is expanded
 * and selected. `changed` is called with each row that must be drawn again, with all below it if its children are
 * others; undefined is the whole tree.
 */
export function mergeRows<T>(old: readonly Row<T>[], fresh: readonly Row<T>[], changed: (item: Row<T> | undefined) => void): Row<T>[] {
  return merge(undefined, old, fresh, count(old, new Map()), changed);
}

function merge<T>(parent: Row<T> | undefined, old: readonly Row<T>[], fresh: readonly Row<T>[], known: Map<string, Row<T>>,
                  changed: (item: Row<T> | undefined) => void): Row<T>[] {
  const others = !sameIds(old, fresh);
  if (others) changed(parent);
  const quiet = others ? () => undefined : changed; // a parent that is drawn again draws them, too
  return fresh.map((item) => mergeOne(item, parent, known, quiet));
}

function mergeOne<T>(item: Row<T>, parent: Row<T> | undefined, known: Map<string, Row<T>>,
                     changed: (item: Row<T> | undefined) => void): Row<T> {
  const kept = known.get(item.id) ?? item;
  const before = kept === item ? [] : kept.children;
  const looks = kept.face !== item.face;
  kept.data = item.data;
  kept.face = item.face;
  kept.parent = parent;
  let drawn = false;
  const tell = (one: Row<T> | undefined): void => {
    if (!drawn) changed(one);
    drawn ||= one === kept;
  };
  if (looks) tell(kept);
  kept.children = merge(kept, before, item.children, known, tell);
  return kept;
}
