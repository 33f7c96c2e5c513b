import assert from 'node:assert/strict';
import test from 'node:test';
import {Comparison, compareValues, csvOf, linesOf, statisticsText} from '../src/many/comparison';

const comparison: Comparison = {
  expression: 'loss', asked: 3,
  groups: [
    {count: 2, value: '0.5', error: null, type: 'float', number: 0.5, tasks: 'rank 0, 2', outlier: false, threadIds: [11, 13]},
    {count: 1, value: null, error: 'NameError: "loss"', type: null, number: null, tasks: 'rank 1', outlier: true, threadIds: [12]},
  ],
  statistics: {count: 2, nan: 0, inf: 1, min: 0.5, max: 0.5, mean: 1 / 3, median: 0.5}, sparkline: '▁·▁',
  values: [
    {threadId: 11, rank: 0, name: 'rank 0 step', value: '0.5', error: null, outlier: false},
    {threadId: 12, rank: 1, name: 'rank 1 step', value: null, error: 'NameError: "loss"', outlier: true},
    {threadId: 13, rank: null, name: 'a, b', value: '0.5', error: null, outlier: false},
  ],
  notAsked: [{threadId: 14, rank: 3, name: 'rank 3 step', why: 'running'}],
};

test('a line for each task', () => {
  assert.deepEqual(linesOf(comparison).map(({group, outcome, text, type, number}) => [group, outcome, text, type, number]), [
    [0, 'value', '0.5', 'float', 0.5], [1, 'error', 'NameError: "loss"', '', null], [0, 'value', '0.5', 'float', 0.5], [-1, 'not asked', 'running', '', null]]);
});

test('CSV, as the console prints it', () => {
  assert.equal(csvOf(comparison), `thread,rank,task,outcome,value,type,outlier
11,0,rank 0 step,value,0.5,float,no
12,1,rank 1 step,error,"NameError: ""loss""",,yes
13,,"a, b",value,0.5,float,no
14,3,rank 3 step,not asked,running,,no
`);
});

test('numbers by size, then texts', () => {
  const sorted = [{number: null, text: 'b10'}, {number: 1e30, text: '1e+30'}, {number: null, text: 'b9'}, {number: -2, text: '-2'}, {number: 10, text: '10'}]
    .sort(compareValues).map(({text}) => text);
  assert.deepEqual(sorted, ['-2', '10', '1e+30', 'b9', 'b10']);
});

test('statistics', () => {
  assert.deepEqual(statisticsText(comparison), [['min', '0.5'], ['max', '0.5'], ['mean', '0.333333'], ['median', '0.5'], ['Inf', '1']]);
  assert.deepEqual(statisticsText({...comparison, statistics: null}), []);
});
