import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import {plain} from '../src/base/plain';

test('no link of the user\'s program gets into a notification', () => {
  assert.equal(plain('KeyError: a[0](b) [x](command:raydbg.install)'), 'KeyError: a[0]\u200b(b) [x]\u200b(command:raydbg.install)');
  assert.equal(plain('Trainer.step (bob) [1] (2)'), 'Trainer.step (bob) [1] (2)');
});

test('every notification is shown by way of that', () => {
  const files = fs.readdirSync('src', {recursive: true, encoding: 'utf8'}).filter((file) => file.endsWith('.ts'));
  assert.ok(files.includes(path.join('base', 'errors.ts')));
  for (const file of files.filter((one) => !/^base.(errors|messages)\.ts$/.test(one)))
    assert.doesNotMatch(fs.readFileSync(path.join('src', file), 'utf8'), /\.show(Information|Warning|Error)Message\(/, file);
});
