import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';

interface Entry {
  command: string;
  when?: string;
}

interface Definition {
  properties: Record<string, {enum?: string[]}>;
}

const {contributes} = JSON.parse(fs.readFileSync('package.json', 'utf8')) as {contributes: {
  commands: Entry[]; menus: Record<string, Entry[]>; viewsWelcome: {contents: string}[]; taskDefinitions: Definition[];
  walkthroughs: {title: string; description: string; steps: {title: string; description: string}[]}[];
}};

test('commands of rows are of rows only', () => {
  const hidden = contributes.menus['commandPalette']?.filter(({when}) => when === 'false').map(({command}) => command);
  const known = contributes.commands.map(({command}) => command);
  const rows = contributes.menus['view/item/context']?.map(({command}) => command) ?? [];
  assert.ok(rows.length > 0);
  for (const command of rows) {
    assert.match(command, /^raydbg\.row\.\w+$/);
    assert.ok(known.includes(command) && hidden?.includes(command), command);
  }
  for (const [menu, entries] of Object.entries(contributes.menus))
    if (menu !== 'view/item/context' && menu !== 'commandPalette')
      for (const {command} of entries) assert.doesNotMatch(command, /\.row\./, menu);
});

/** VS Code shows these as they are: a backquote, and a star that is not one of the two of bold text. */
test('texts that VS Code does not take for Markdown have none of it', () => {
  const steps = contributes.walkthroughs.flatMap((one) => [one, ...one.steps]);
  const welcome = contributes.viewsWelcome.map(({contents}) => contents);
  for (const text of steps.flatMap(({title, description}) => [title, description])) assert.doesNotMatch(text.replace(/\*\*[^*]+\*\*/g, ''), /[`*_]/);
  for (const text of welcome) assert.doesNotMatch(text, /[`*]/);
});

test('a row that is attached to does not offer to attach again', () => {
  const offered = (item: string): string[] => (contributes.menus['view/item/context'] ?? []).filter(({when}) => {
    const pattern = /viewItem =~ \/(.*)\/$/.exec(when ?? '')?.[1];
    return pattern !== undefined && new RegExp(pattern).test(item);
  }).map(({command}) => command);
  assert.ok(offered('pause free waiting').includes('raydbg.row.attach'));
  assert.ok(offered('pause free held located').includes('raydbg.row.attach'));
  assert.ok(!offered('pause taken attached').includes('raydbg.row.attach'));
  assert.ok(offered('pause taken held').includes('raydbg.row.observe'));
  for (const command of ['raydbg.row.attach', 'raydbg.row.observe'])
    for (const item of ['pause own attached', 'pause own held', 'pause own held located']) assert.ok(!offered(item).includes(command), `${item}: ${command}`);
  assert.ok(offered('pause own held').includes('raydbg.row.release'));
});

test('tasks.json offers only what the extension resolves', () => {
  const offered = contributes.taskDefinitions.flatMap(({properties}) => Object.entries(properties).flatMap(([name, {enum: values}]) => (values ? [[name, ...values]] : [])));
  assert.deepEqual(offered, [['forward', 'ssh', 'kubectl']]);
});

test('what the row of a cluster offers is in the palette: a single cluster has no row', () => {
  for (const {command, when} of contributes.menus['view/item/context'] ?? [])
    if (when?.includes('^cluster\\b')) assert.ok(contributes.commands.some((one) => one.command === command.replace('.row.', '.')), command);
});
