import assert from 'node:assert/strict';
import test from 'node:test';
import {squarify} from '../src/objects/treemap';

const room = {x: 10, y: 20, width: 600, height: 400};

test('areas are in proportion, and fill the room', () => {
  const values = [600, 600, 400, 300, 200, 200, 100];
  const boxes = squarify(values, room);
  const total = values.reduce((sum, value) => sum + value, 0);
  boxes.forEach((box, index) => {
    assert.ok(Math.abs(box.width * box.height - ((values[index] ?? 0) / total) * 240_000) < 1e-6);
    assert.ok(box.x >= 10 - 1e-9 && box.y >= 20 - 1e-9 && box.x + box.width <= 610 + 1e-6 && box.y + box.height <= 420 + 1e-6);
  });
});

test('no two boxes overlap', () => {
  const boxes = squarify(Array.from({length: 40}, (_, n) => 1000 / (n + 1)), room);
  for (const [i, a] of boxes.entries())
    for (const b of boxes.slice(i + 1)) {
      const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
      const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
      assert.ok(wide < 1e-6 || high < 1e-6);
    }
});

test('boxes are nearly square: none of the paper\'s is worse than 1 to 3', () => {
  for (const box of squarify([6, 6, 4, 3, 2, 2, 1], {x: 0, y: 0, width: 6, height: 4}))
    assert.ok(Math.max(box.width / box.height, box.height / box.width) < 3);
});

test('one value takes all, none gives none', () => {
  assert.deepEqual(squarify([5], room), [room]);
  assert.deepEqual(squarify([], room), []);
});
