import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';

interface Entry {
  command: string;
  when?: string;
}

const {contributes} = JSON.parse(fs.readFileSync('package.json', 'utf8')) as
  {contributes: {commands: Entry[]; menus: Record<string, Entry[]>}};

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
