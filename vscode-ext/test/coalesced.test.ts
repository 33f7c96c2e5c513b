import assert from 'node:assert/strict';
import test from 'node:test';
import {Coalesced} from '../src/base/coalesced';

test('many calls are one, and none after the end', (context) => {
  context.mock.timers.enable({apis: ['setTimeout']});
  let acts = 0;
  const coalesced = new Coalesced(() => acts++, 100);
  for (let call = 0; call < 9; call++) coalesced.call();
  context.mock.timers.tick(99);
  assert.equal(acts, 0);
  coalesced.call();
  context.mock.timers.tick(1);
  assert.equal(acts, 1);
  coalesced.call();
  coalesced.end();
  context.mock.timers.tick(100);
  assert.equal(acts, 1);
  coalesced.call();
  context.mock.timers.tick(100);
  assert.equal(acts, 2);
});
