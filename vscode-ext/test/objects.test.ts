import assert from 'node:assert/strict';
import test from 'node:test';
import {bar, bytesText, callSite, groupLabel, parseMemory, portion, processText} from '../src/objects/objects';

test('sizes are decimal, with two digits', () => {
  const texts = [0, 100, 999, 1000, 9949, 9950, 8_000_128, 12_000_000, 999_499_999, 999_500_000, 3.1e15].map(bytesText);
  assert.deepEqual(texts, ['0 B', '100 B', '999 B', '1.0 KB', '9.9 KB', '10 KB', '8.0 MB', '12 MB', '999 MB', '1.0 GB', '3.1 PB']);
  assert.equal(bytesText(null), '? B');
});

test('how much of it', () => {
  assert.equal(portion(20_000_000, 200_000_000), '20 of 200 MB');
  assert.equal(portion(0, 4_000_000_000), '0 of 4.0 GB');
  assert.equal(portion(40_000_000, 4_000_000_000), '0.0 of 4.0 GB');
});

test('a bar shows that there is something', () => {
  assert.equal(bar(0, 100), '▱▱▱▱▱');
  assert.equal(bar(1, 1000), '▰▱▱▱▱');
  assert.equal(bar(40, 100), '▰▰▱▱▱');
  assert.equal(bar(300, 100), '▰▰▰▰▰');
  assert.equal(bar(0, 0), '▱▱▱▱▱');
});

test('the call site is the frame that is not Ray\'s', () => {
  assert.equal(callSite('/home/me/train.py:square:21 | /v/site-packages/ray/_private/hook.py:wrapper:9 (put object)')?.line, 21);
  assert.deepEqual(callSite('(put object) /v/site-packages/ray/_private/hook.py:wrapper:9 | /home/me/train.py:square:21'),
    {file: '/home/me/train.py', line: 21, label: 'train.py:21 square'});
  assert.deepEqual(callSite('(task call) /home/me/train.py:<module>:3')?.label, 'train.py:3 <module>');
  for (const none of ['', 'disabled', '<unknown>', '(deserialize task arg) x']) assert.equal(callSite(none), undefined, none);
  assert.equal(groupLabel('disabled', 'call-site'), 'call sites were not recorded');
  assert.equal(groupLabel('(deserialize task arg) train.step', 'call-site'), 'train.step (deserialize task arg)');
  assert.equal(groupLabel('10.0.0.7 (n1)', 'node'), '10.0.0.7 (n1)');
});

test('who holds it', () => {
  assert.equal(processText({type: 'driver', pid: 5, ip: '10.0.0.7', actor_class: null}), 'driver pid 5@10.0.0.7');
  assert.equal(processText({type: 'worker', pid: 6, ip: '10.0.0.7', actor_class: 'Trainer'}), 'Trainer pid 6@10.0.0.7');
  assert.equal(processText(undefined), 'unknown');
});

test('a sweep without references', () => {
  assert.deepEqual(parseMemory('{"taken":1,"nodes":[]}'), {nodes: [], processes: [], call_sites: [], rows: [], groups: []});
});
