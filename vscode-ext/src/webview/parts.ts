/** What the pages' scripts share. */

/** The element of that id. */
export function part<T extends Element>(id: string, kind: abstract new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`the page has no ${id}`);
  return element;
}
