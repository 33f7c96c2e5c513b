import assert from 'node:assert/strict';
import test from 'node:test';
import {forwardCommand, parseForward} from '../src/cluster/forward';

test('what is run to bring a port here', () => {
  assert.equal(forwardCommand({forward: 'ssh', target: 'me@head -p 2222', port: 4800}).join(' '),
    'ssh -N -o ExitOnForwardFailure=yes -o ServerAliveInterval=15 -L 127.0.0.1:4800:127.0.0.1:4713 me@head -p 2222');
  assert.equal(forwardCommand({forward: 'kubectl', target: ' svc/ray-head -n ray ', relayPort: 99}).join(' '),
    'kubectl port-forward --address 127.0.0.1 svc/ray-head -n ray 4713:99');
  assert.ok(forwardCommand({forward: 'ssh', target: 'h;reboot'}).includes('h;reboot'), 'no shell reads it');
});

test('a task of tasks.json', () => {
  assert.deepEqual(parseForward({type: 'raydbg', forward: 'ssh', target: ' h '}), {forward: 'ssh', target: 'h', port: 4713, relayPort: 4713});
  assert.equal(parseForward({type: 'raydbg', forward: 'kubectl', target: 'pod/x', port: 5000})?.port, 5000);
  for (const bad of [{}, {forward: 'ssh'}, {forward: 'ftp', target: 'h'}, {forward: 'ssh', target: ' '}, {forward: 'ssh', target: 1}])
    assert.equal(parseForward(bad), undefined, JSON.stringify(bad));
});
