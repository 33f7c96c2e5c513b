import assert from 'node:assert/strict';
import test from 'node:test';
import {isTokenUsed, readClusters, withCluster, withoutCluster} from '../src/cluster/cluster-list';

const lab = {name: 'lab', relay: 'https://h:1'};
const mine = {name: 'mine', address: '10.0.0.5:6379'};

test('a value of any type', () => {
  assert.deepEqual(readClusters(undefined, []), {clusters: [], problems: []});
  assert.deepEqual(readClusters([lab, mine], ['this machine']), {clusters: [lab, mine], problems: []});
  for (const wrong of [{}, 'lab', 7, null]) assert.deepEqual([readClusters(wrong, []).clusters, readClusters(wrong, []).problems.length], [[], 1]);
  const {clusters, problems} = readClusters([null, lab, 'x', {address: 'h:1'}, {name: 'a', relay: 7}, {...mine, name: 'lab'}, {name: 'this machine'}], ['this machine']);
  assert.deepEqual(clusters, [lab]);
  assert.equal(problems.length, 6);
});

test('the list that counts is changed, and the other one stays', () => {
  assert.deepEqual(withCluster({globalValue: [mine]}, lab), {list: [mine, lab], workspace: false});
  assert.deepEqual(withCluster({workspaceValue: [], globalValue: [mine]}, lab), {list: [lab], workspace: true});
  assert.deepEqual(withCluster({globalValue: [lab, mine]}, {...lab, fingerprint: 'SHA256:0'}), {list: [{...lab, fingerprint: 'SHA256:0'}, mine], workspace: false});
  assert.deepEqual(withoutCluster({workspaceValue: [lab, mine], globalValue: [lab]}, 'lab'), {list: [mine], workspace: true});
  assert.equal(withoutCluster({workspaceValue: [mine], globalValue: [lab]}, 'lab'), undefined);
  assert.deepEqual(withoutCluster({globalValue: [7, lab, {...mine, name: 'lab'}]}, 'lab'), {list: [7, {...mine, name: 'lab'}], workspace: false}, 'its row was of the first');
});

test('a token is kept as long as a cluster has it', () => {
  assert.ok(isTokenUsed({globalValue: [{...lab, name: 'other'}]}, 'https://h:1'));
  assert.ok(isTokenUsed({workspaceValue: [], globalValue: [lab]}, 'https://h:1'));
  assert.ok(!isTokenUsed({workspaceValue: [], globalValue: [mine]}, 'https://h:1'));
  assert.ok(isTokenUsed({}, 'this machine'), 'an entry without an address is the cluster on this machine');
});
