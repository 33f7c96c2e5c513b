import assert from 'node:assert/strict';
import test from 'node:test';
import {plainRun} from '../src/session/plain-run';

test('a launch without debugging', () => {
  assert.deepEqual(plainRun({program: 'train.py', noDebug: true}, '/v/bin/python'), {argv: ['/v/bin/python', 'train.py'], cwd: undefined, env: {}});
  assert.deepEqual(plainRun({module: 'app.train', args: ['-n', '3'], python: ['python3', '-O'], cwd: '/w', env: {A: '1', B: null}}, '/v/bin/python'),
    {argv: ['env', '-u', 'B', 'python3', '-O', '-m', 'app.train', '-n', '3'], cwd: '/w', env: {A: '1'}});
  assert.deepEqual(plainRun({program: 'a.py', args: 'x y'}, undefined)?.argv, ['python3', 'a.py', 'x y']);
  const plain = {program: 'a.py', args: [], env: {}, cwd: '', python: null, console: 'externalTerminal'};
  assert.deepEqual(plainRun(plain, '/v/bin/python'), {argv: ['/v/bin/python', 'a.py'], cwd: undefined, env: {}});
  for (const wrong of [{args: 7}, {args: {lr: 3}}, {args: ['-n', 3]}, {args: null}, {env: 'A=1'}, {env: ['A=1']}, {env: {N: 4}}, {env: null}, {cwd: 7}, {cwd: null},
    {python: 7}, {python: ['python3', 7]}]) assert.equal(plainRun({...plain, ...wrong}, undefined), undefined, `raydbg says what is wrong with ${JSON.stringify(wrong)}`);
  for (const none of [{}, {program: ''}, {program: 'a.py', module: 'b'}, {program: 7}]) assert.equal(plainRun(none, undefined), undefined, JSON.stringify(none));
});
