import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import {Told, troubleText, viewState} from '../src/cluster/feed-state';

const here: Told = {name: 'this machine', added: false, state: 'unreachable', problem: 'no raylet', count: 0};
const lab: Told = {name: 'lab', added: true, state: 'unreachable', problem: 'it does not answer', count: 0};

test('what the view says where there is no row', () => {
  for (const [clusters, state] of [
    [[], 'none'], [[here], 'none'], [[{...here, state: 'starting'}], 'starting'], [[{...here, state: 'live'}], 'empty'],
    [[{...here, state: 'away'}], 'problem'], [[{...here, state: 'failed', problem: 'it does not start'}], 'problem'], [[{...here, state: 'denied', problem: 'a token is needed'}], 'denied'],
    [[lab], 'problem'], [[{...lab, problem: 'its certificate is not trusted'}], 'certificate'],
    [[{...lab, state: 'failed', problem: 'its fingerprint is another'}], 'certificate'], [[{...lab, state: 'denied'}], 'denied'],
    [[{...lab, state: 'away', count: 1}], 'some'], [[here, lab], 'some'],
  ] as [Told[], string][]) assert.equal(viewState(clusters, false), state, JSON.stringify(clusters));
  assert.equal(viewState([here], true), 'broken');
});

test('each of these has a text', () => {
  const {contributes} = JSON.parse(fs.readFileSync('package.json', 'utf8')) as {contributes: {viewsWelcome: {view: string; when?: string}[]}};
  const whens = contributes.viewsWelcome.filter(({view}) => view === 'raydbg.pauses').map(({when}) => when);
  for (const state of ['empty', 'starting', 'certificate', 'denied', 'problem', 'none', 'broken', 'untrusted'])
    assert.ok(whens.includes(`raydbg.state == '${state}'`), state);
});

test('why no pause can be known', () => {
  assert.equal(troubleText([]), 'No Ray cluster is known');
  assert.equal(troubleText([here]), 'No Ray cluster was found on this machine');
  assert.equal(troubleText([here, lab]), 'lab: it does not answer');
  for (const state of ['live', 'starting'] as const) assert.equal(troubleText([lab, {...here, state}]), '');
  assert.equal(troubleText([{...here, state: 'failed', problem: 'it does not start'}]), 'this machine: it does not start');
  assert.equal(troubleText([{...here, state: 'denied', problem: 'a token is needed'}]), 'this machine: a token is needed');
});
