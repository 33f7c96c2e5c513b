import assert from 'node:assert/strict';
import test from 'node:test';
import {PathMapping, areMappings, guessMapping, isBelow, mappingFor, packageRoot, toLocal} from '../src/session/path-mapping';

const root = '/tmp/ray/session_x/runtime_resources/working_dir_files/_ray_pkg_0123abcd';

function guess(file: string, folders: string[], files: string[]): ReturnType<typeof guessMapping> {
  return guessMapping(file, folders, (path) => files.includes(path));
}

test('the root of a package', () => {
  assert.equal(packageRoot(`${root}/src/app.py`), root);
  assert.equal(packageRoot(root), root);
  assert.equal(packageRoot('/tmp/r/runtime_resources/py_modules_files/_ray_pkg_00/m/a.py'), '/tmp/r/runtime_resources/py_modules_files/_ray_pkg_00');
  assert.equal(packageRoot('/home/me/app.py'), undefined);
});

test('a package is the folder that has the file', () => {
  const {candidates} = guess(`${root}/src/app.py`, ['/w/one', '/w/two'], ['/w/two/src/app.py']);
  assert.deepEqual(candidates, [{localRoot: '/w/two', remoteRoot: root}]);
});

test('below a package nothing is guessed', () => {
  assert.deepEqual(guess(`${root}/src/app.py`, ['/w'], ['/w/app.py']).candidates, []);
});

test('a container: the longest tail that is here', () => {
  const {candidates} = guess('/app/src/train/app.py', ['/w'], ['/w/train/app.py', '/w/app.py']);
  assert.deepEqual(candidates, [{localRoot: '/w', remoteRoot: '/app/src'}]);
  assert.equal(toLocal('/app/src/train/app.py', {localRoot: '/w', remoteRoot: '/app/src'}), '/w/train/app.py');
  assert.equal(toLocal('/w/app.py', {localRoot: '/x', remoteRoot: '/'}), '/x/w/app.py');
});

test('the same name here needs none', () => {
  assert.deepEqual(guess('/w/app.py', ['/w'], ['/w/app.py']), {candidates: [], needed: false});
});

test('two folders have it: ambiguous', () => {
  assert.equal(guess('/app/a.py', ['/one', '/two'], ['/one/a.py', '/two/a.py']).candidates.length, 2);
});

test('what is set may be of any type', () => {
  assert.ok(areMappings([]));
  assert.ok(areMappings([{localRoot: '/a', remoteRoot: '/b'}]));
  for (const wrong of [undefined, null, 7, 'x', {}, {'/app': '/home/me'}, [null], ['/app'], [[]], [{}], [{localRoot: '/a'}],
    [{localRoot: '/a', remoteRoot: null}], [{localRoot: 7, remoteRoot: '/b'}]])
    assert.ok(!areMappings(wrong), JSON.stringify(wrong));
});

test('a root is above whole names, and the first counts', () => {
  for (const [file, root] of [['/app/a.py', '/app'], ['/app/a.py', '/app/'], ['/app/a.py', '/'], ['/app', '/app'], ['C:\\x\\a.py', 'C:\\x']] as const)
    assert.ok(isBelow(file, root), root);
  for (const [file, root] of [['/app2/a.py', '/app'], ['/app2/a.py', '/app/'], ['/a', '/app']] as const) assert.ok(!isBelow(file, root), file);
  const [wide, narrow] = ['/app', '/app/lib'].map((remoteRoot) => ({localRoot: '/w', remoteRoot})) as [PathMapping, PathMapping];
  assert.equal(mappingFor('/app/lib/a.py', [wide, narrow]), wide, 'as dap/path_map.c does it');
  assert.equal(mappingFor('/app/lib/a.py', [narrow, wide]), narrow);
  assert.equal(mappingFor('/app/library/a.py', [narrow, wide]), wide);
  assert.equal(mappingFor('/app2/a.py', [wide, narrow]), undefined);
});
