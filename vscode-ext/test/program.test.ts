import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import {Lines, errorText, run, sentenceOf} from '../src/base/program';

function script(context: {after: (fn: () => void) => void}, text: string): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'raydbg-unit-'));
  context.after(() => fs.rmSync(directory, {recursive: true}));
  const file = path.join(directory, 'raydbg');
  fs.writeFileSync(file, `#!/bin/sh\n${text}\n`, {mode: 0o755});
  return file;
}

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

test('a message does not name options of a command line that nobody types', () => {
  const away = 'raydbg: the relay is gone\n  nothing listens there\n  is it running? raydbg relay starts one; --no-relay goes without\n';
  assert.equal(errorText(away), 'the relay is gone — nothing listens there — is it running? raydbg relay starts one');
  assert.equal(errorText('raydbg: a token is needed\n  there is none\n  give it by RAYDBG_TOKEN or --relay-token-file\n'), 'a token is needed — there is none');
  assert.equal(sentenceOf(['--kill is no task', null, undefined, 'use a - name--like this']), '--kill is no task — use a - name--like this');
});
