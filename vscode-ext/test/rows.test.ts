import assert from 'node:assert/strict';
import test from 'node:test';
import {Row, mergeRows, row} from '../src/base/rows';

type Made = [string, string, Made[]?];

function make(made: Made[]): Row<string>[] {
  return made.map(([id, face, children]) => row(id, face, face, make(children ?? [])));
}

function change(before: Made[], after: Made[]): {rows: Row<string>[]; old: Row<string>[]; drawn: string[]} {
  const old = mergeRows([], make(before), () => undefined);
  const drawn: string[] = [];
  const rows = mergeRows(old, make(after), (item) => drawn.push(item ? item.id : 'all'));
  return {rows, old, drawn};
}

test('nothing changes: nothing is drawn', () => {
  const {rows, old, drawn} = change([['g', 'G', [['a', 'A']]]], [['g', 'G', [['a', 'A']]]]);
  assert.deepEqual(drawn, []);
  assert.equal(rows[0], old[0]);
  assert.equal(rows[0]?.children[0], old[0]?.children[0]);
});

test('one of 200 changes: it alone is drawn, and it stays the same object', () => {
  const many = (seventh: string): Made[] => [['g', 'G', Array.from({length: 200}, (_, n): Made => [`p${n}`, n === 7 ? seventh : 'x'])]];
  const {rows, old, drawn} = change(many('x'), many('y'));
  assert.deepEqual(drawn, ['p7']);
  assert.equal(rows[0]?.children[7], old[0]?.children[7]);
  assert.equal(rows[0]?.children[7]?.data, 'y');
});

test('one comes, one goes: their group is drawn, once', () => {
  assert.deepEqual(change([['g', '1', [['a', 'A']]], ['h', 'H', [['c', 'C']]]], [['g', '2', [['a', 'A2'], ['b', 'B']]], ['h', 'H', [['c', 'C']]]]).drawn, ['g']);
  assert.deepEqual(change([['g', 'G', [['a', 'A'], ['b', 'B']]]], [['g', 'G', [['b', 'B']]]]).drawn, ['g']);
});

test('groups come and go: all is drawn', () => {
  assert.deepEqual(change([['g', 'G']], [['g', 'G'], ['h', 'H', [['a', 'A']]]]).drawn, ['all']);
});

test('a row that moves to another group has its parent', () => {
  const {rows} = change([['g', 'G', [['a', 'A']]], ['h', 'H']], [['g', 'G'], ['h', 'H', [['a', 'A']]]]);
  assert.equal(rows[1]?.children[0]?.parent, rows[1]);
  assert.deepEqual(rows[0]?.children, []);
});
