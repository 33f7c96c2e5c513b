import assert from 'node:assert/strict';
import test from 'node:test';
import {Frame, Report, failureText, hasFailed, locationLinks} from '../src/why/report';

const ray: Frame = {file: 'python/ray/_raylet.pyx', line: 2306, function: 'ray._raylet.execute_task', in_program: false};
const mine: Frame = {file: '/home/me/proj/train.py', line: 6, function: 'load', in_program: true};
const report: Report = {
  kind: 'task', id: 'c8ef45cc', name: 'load', state: 'failed', since_ms: 2000, code: 'exception',
  cause: 'it raised ZeroDivisionError: division by zero', frames: [ray, mine],
};

test('a failure is told with its cause and the last line of the program', () => {
  assert.equal(failureText(report), 'load failed: it raised ZeroDivisionError: division by zero (train.py:6)');
  assert.equal(failureText({...report, frames: [ray]}), 'load failed: it raised ZeroDivisionError: division by zero');
  assert.equal(failureText({...report, kind: 'worker', name: null, state: 'dead', cause: null, frames: []}), 'worker dead: the cause is unknown');
});

test('only what failed meanwhile is a failure', () => {
  assert.ok(hasFailed(report, 1000));
  assert.ok(!hasFailed(report, 3000));
  assert.ok(!hasFailed({...report, state: 'running'}, 0));
  assert.ok(!hasFailed({...report, state: 'dead', code: 'job_over'}, 0));
  assert.ok(hasFailed({...report, state: 'dead', code: 'native_crash'}, 0));
});

test('shortened locations of the text lead to whole paths', () => {
  const text = 'load · failed\n    ray/_raylet.pyx:2306 in ray._raylet.execute_task\n  → proj/train.py:6 in load\nat 10.0.0.7:6379\n';
  const links = locationLinks(text, report.frames);
  assert.deepEqual(links.map(({start, end, file, line}) => [text.slice(start, end), file, line]), [['proj/train.py:6', '/home/me/proj/train.py', 6]]);
  assert.deepEqual(locationLinks('  → train.py:7 in load', report.frames), []);
  assert.deepEqual(locationLinks('  → rain.py:6 in load', report.frames), []);
});
