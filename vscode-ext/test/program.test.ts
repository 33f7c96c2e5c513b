import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import {Lines, candidates, errorText, findProgram, run} from '../src/program';

function script(context: {after: (fn: () => void) => void}, text: string): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'raydbg-unit-'));
  context.after(() => fs.rmSync(directory, {recursive: true}));
  const file = path.join(directory, 'raydbg');
  fs.writeFileSync(file, `#!/bin/sh\n${text}\n`, {mode: 0o755});
  return file;
}

test('where the program is looked for', () => {
  assert.deepEqual(candidates('/my/raydbg', '/ext', '/bin'), ['/my/raydbg']);
  const found = candidates('', '/ext', `/a${path.delimiter}${path.delimiter}/b`);
  assert.deepEqual(found, [`/ext/bin/${process.platform}-${process.arch}/raydbg`, '/a/raydbg', '/b/raydbg']);
});

test('its version must fit', async (context) => {
  const good = script(context, 'echo raydbg 0.1.7');
  assert.deepEqual(await findProgram(good, '/none', '0.1.0'), {path: good, version: '0.1.7'});
  await assert.rejects(findProgram(good, '/none', '0.2.0'), /is raydbg 0\.1\.7; this extension needs 0\.2\.0/);
  await assert.rejects(findProgram('/none/raydbg', '/none', '0.1.0'), /raydbg\.path names no program: \/none\/raydbg/);
  await assert.rejects(findProgram(script(context, 'echo no library >&2; exit 127'), '/none', '0.1.0'), /does not run: no library/);
});

test('what a command prints, and its environment', async (context) => {
  const result = await run(script(context, 'echo "$1 $MINE"; echo bad >&2; exit 3'), ['one'], {MINE: 'two'});
  assert.deepEqual(result, {code: 3, stdout: 'one two\n', stderr: 'bad\n'});
});

test('lines', () => {
  const lines = new Lines();
  assert.deepEqual(lines.push('a\nb'), ['a']);
  assert.deepEqual(lines.push('c\n\n'), ['bc', '']);
});

test('an error as one sentence', () => {
  assert.equal(errorText('note\nraydbg: no such task\n  none fits\n  raydbg list\n'), 'no such task — none fits — raydbg list');
  assert.equal(errorText('sh: not found\n'), 'sh: not found');
  assert.equal(errorText(''), '');
});
