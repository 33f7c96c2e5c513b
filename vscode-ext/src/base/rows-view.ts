/**
 * A tree view over rows which draws again only what has changed. The whole tree is drawn twice: VS Code drops what it is
 * reading of the tree before, and may then show a row that is in both trees without its children. While it draws the whole tree
 * it knows no row, and a click on one is lost.
 */
import * as vscode from 'vscode';
import {Row, mergeRows} from './rows';

/** Milliseconds that VS Code gets to draw the whole tree. */
const settle = 1000;

export class RowsView<T> implements vscode.TreeDataProvider<Row<T>>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Row<T> | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Row<T>>;
  private rows: Row<T>[] = [];
  private again: NodeJS.Timeout | undefined;

  /** `item` draws a row; its id is set here. */
  constructor(id: string, private readonly item: (row: Row<T>) => vscode.TreeItem, showCollapseAll = true) {
    this.view = vscode.window.createTreeView(id, {treeDataProvider: this, showCollapseAll});
  }

  show(rows: Row<T>[]): void {
    this.rows = mergeRows(this.rows, rows, (row) => this.draw(row));
  }

  private draw(row: Row<T> | undefined): void {
    this.changed.fire(row);
    if (row) return;
    clearTimeout(this.again);
    this.again = setTimeout(() => this.changed.fire(undefined), settle);
  }

  getChildren(row?: Row<T>): Row<T>[] {
    return row ? row.children : this.rows;
  }

  getParent(row: Row<T>): Row<T> | undefined {
    return row.parent;
  }

  getTreeItem(row: Row<T>): vscode.TreeItem {
    const item = this.item(row);
    item.id = row.id;
    return item;
  }

  dispose(): void {
    clearTimeout(this.again);
    this.view.dispose();
    this.changed.dispose();
  }
}
