import assert from 'node:assert/strict';
import test from 'node:test';
import {Kept} from '../src/base/kept';

test('what is found is kept until it is forgotten or no good any more', async () => {
  let searches = 0;
  const good = new Set([1, 2, 3]);
  const kept = new Kept(() => Promise.resolve(++searches), (found) => good.has(found));
  assert.deepEqual(await Promise.all([kept.get(), kept.get()]), [1, 1], 'one search for all');
  assert.equal(await kept.get(), 1);
  good.delete(1);
  assert.equal(await kept.get(), 2, 'the file is gone');
  kept.forget();
  assert.equal(await kept.get(), 3);
  good.clear();
  assert.equal(await kept.get(), 4, 'the caller says that there is none');
  assert.equal(await kept.get(), 5);
});

test('a search that rejects is made again', async () => {
  let fails = true;
  const kept = new Kept(() => (fails ? Promise.reject(new Error('not trusted')) : Promise.resolve(1)), () => true);
  await assert.rejects(kept.get(), /not trusted/);
  fails = false;
  assert.equal(await kept.get(), 1);
});
