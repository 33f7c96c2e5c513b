/** A tree view over rows which draws again only what has changed. */
import * as vscode from 'vscode';
import {Row, mergeRows} from './rows';

export class RowsView<T> implements vscode.TreeDataProvider<Row<T>>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Row<T> | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Row<T>>;
  private rows: Row<T>[] = [];

  /** `item` draws a row; its id is set here. */
  constructor(id: string, private readonly item: (row: Row<T>) => vscode.TreeItem, showCollapseAll = true) {
    this.view = vscode.window.createTreeView(id, {treeDataProvider: this, showCollapseAll});
  }

  show(rows: Row<T>[]): void {
    this.rows = mergeRows(this.rows, rows, (row) => this.changed.fire(row));
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
    this.view.dispose();
    this.changed.dispose();
  }
}
