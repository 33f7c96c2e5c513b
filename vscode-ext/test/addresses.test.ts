import assert from 'node:assert/strict';
import test from 'node:test';
import {clusterSetting, relayEndpoint} from '../src/cluster/addresses';

test('a cluster or a relay', () => {
  assert.deepEqual(clusterSetting('a', '10.0.0.5:6379'), {name: 'a', address: '10.0.0.5:6379'});
  assert.deepEqual(clusterSetting('a', 'http://h:8265'), {name: 'a', address: 'http://h:8265'});
  assert.deepEqual(clusterSetting('a', 'relay 10.0.0.5:4713'), {name: 'a', relay: '10.0.0.5:4713'});
  assert.deepEqual(clusterSetting('a', 'https://h:1'), {name: 'a', relay: 'https://h:1'});
  assert.deepEqual(clusterSetting('a', 'unix:/x'), {name: 'a', relay: 'unix:/x'});
});

test('whose certificate can be asked for', () => {
  assert.deepEqual(relayEndpoint('https://h'), {host: 'h', port: 4713});
  assert.deepEqual(relayEndpoint('https://h:99/'), {host: 'h', port: 99});
  assert.deepEqual(relayEndpoint('https://[::1]:99'), {host: '::1', port: 99});
  for (const address of ['h:99', 'http://h', 'unix:/x', 'https://']) assert.equal(relayEndpoint(address), undefined, address);
});
