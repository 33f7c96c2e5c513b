import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import {installCommand, installTarget, searchLines, searchProblem} from '../src/program/report';
import {Search, searchProgram} from '../src/program/search';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'raydbg-search-'));
test.after(() => fs.rmSync(root, {recursive: true}));

/** What a file of a case does: prints that version, or is something else. */
const texts: Record<string, string> = {
  fails: '#!/bin/sh\necho no library >&2; exit 127\n', stranger: '#!/bin/sh\necho Ray Debugger 2000 0.1.0\n',
  namesake: '#!/bin/sh\n# from raydbg.cli import main\necho raydbg 0.1.0\n', text: 'notes\n', foreign: '\x7fELF of another machine\n',
};

interface Case {
  title: string;
  /** Files of a directory of its own, each with the version that it prints or one of `texts`. */
  files: Record<string, string>;
  setting?: string;
  /** The Python extension's answer; absent: it is not installed. */
  selected?: string;
  env?: string;
  folders?: string[];
  path?: string;
  /** The file that is taken, or what the user is told. */
  takes?: string;
  told?: RegExp;
  /** The environment that is offered for installation. */
  offers?: string;
  logs?: RegExp;
}

const venv = 'ws/.venv/bin';
const cases: Case[] = [
  {title: 'the setting is taken before all', files: {'my/raydbg': '0.1.0', 'ext/bin/raydbg': '0.1.0', [`${venv}/raydbg`]: '0.1.0'},
   setting: 'my/raydbg', takes: 'my/raydbg', logs: /setting raydbg\.path: .*my\/raydbg: raydbg 0\.1\.0: taken/},
  {title: 'a setting that names nothing is not passed over', files: {'ext/bin/raydbg': '0.1.0'}, setting: 'my/raydbg',
   told: /the setting raydbg\.path names no program: .*\/my\/raydbg$/},
  {title: 'a setting of another version', files: {'my/raydbg': '0.0.9', 'ext/bin/raydbg': '0.1.0'}, setting: 'my/raydbg',
   told: /my\/raydbg \(setting raydbg\.path\): raydbg 0\.0\.9 is older than the 0\.1 that this extension needs/},
  {title: 'the extension\'s own, without asking for an environment', files: {'ext/bin/raydbg': '0.1.0', 'other/bin/raydbg': '0.1.0'},
   selected: 'asked too early', takes: 'ext/bin/raydbg', logs: /in the extension: .*taken/},
  {title: 'an own program that does not run here: the environment\'s', files: {'ext/bin/raydbg': 'fails', [`${venv}/raydbg`]: '0.1.0'},
   takes: `${venv}/raydbg`, logs: /in the extension: .*does not run: no library/},
  {title: 'the selected environment, by its interpreter', files: {'other/bin/python': 'text', 'other/pyvenv.cfg': 'text', 'other/bin/raydbg': '0.1.3', [`${venv}/raydbg`]: '0.1.0'},
   selected: 'other/bin/python', takes: 'other/bin/raydbg', logs: /Python environment .*\/other \(selected in the Python extension\): .*taken/},
  {title: 'the selected environment, by its directory', files: {'other/bin/raydbg': '0.1.0'}, selected: 'other', takes: 'other/bin/raydbg'},
  {title: 'a selected interpreter that is in no environment', files: {'usr/bin/python3': 'text'}, selected: 'usr/bin/python3', offers: 'usr/bin/python3',
   told: /neither in the Python environment .*\/usr\/bin\/python3 nor on PATH/},
  {title: 'a selected environment without raydbg hides that of the workspace', files: {'other/bin/python': 'text', [`${venv}/raydbg`]: '0.1.0', 'p/raydbg': '0.1.0'},
   selected: 'other/bin/python', path: 'p', takes: 'p/raydbg', logs: /other\/bin\/raydbg: not there/},
  {title: '.venv before venv', files: {[`${venv}/raydbg`]: '0.1.0', 'ws/venv/bin/raydbg': '0.1.0'}, takes: `${venv}/raydbg`, logs: /\(in the workspace\)/},
  {title: 'venv', files: {'ws/venv/bin/raydbg': '0.1.0'}, takes: 'ws/venv/bin/raydbg'},
  {title: 'the second folder of the workspace', files: {'two/.venv/bin/raydbg': '0.1.0'}, folders: ['ws', 'two'], takes: 'two/.venv/bin/raydbg'},
  {title: '$VIRTUAL_ENV', files: {'active/bin/raydbg': '0.1.0'}, env: 'active', takes: 'active/bin/raydbg', logs: /\(\$VIRTUAL_ENV\)/},
  {title: 'the environment before PATH', files: {[`${venv}/raydbg`]: '0.1.0', 'p/raydbg': '0.1.0'}, path: 'p', takes: `${venv}/raydbg`},
  {title: 'PATH, with an empty entry', files: {'q/raydbg': '0.1.0'}, path: `p${path.delimiter}${path.delimiter}q`, takes: 'q/raydbg', logs: /on PATH: .*taken/},
  {title: '~/.local/bin', files: {'home/.local/bin/raydbg': '0.1.0'}, takes: 'home/.local/bin/raydbg'},
  {title: 'an older one is passed over', files: {[`${venv}/raydbg`]: '0.0.9', 'p/raydbg': '0.1.7'}, path: 'p', takes: 'p/raydbg',
   logs: /raydbg 0\.0\.9 is older than the 0\.1 that this extension needs/},
  {title: 'only an older one', files: {[`${venv}/raydbg`]: '0.0.9'}, offers: 'ws/.venv',
   told: /\.venv\/bin\/raydbg: raydbg 0\.0\.9 is older than the 0\.1 .*To get the right one: pip install 'raydbg-bridge==0\.1\.\*'$/},
  {title: 'only a newer one', files: {'p/raydbg': '0.12.0'}, path: 'p',
   told: /raydbg 0\.12\.0 is newer than the 0\.1 .*update the extension, or pip install/},
  {title: 'a newer major version', files: {'p/raydbg': '1.0.0'}, path: 'p', told: /raydbg 1\.0\.0 is newer/},
  {title: 'another program of that name', files: {'p/raydbg': 'stranger'}, path: 'p', told: /p\/raydbg does not run: it is another program/},
  {title: 'the program of PyPI\'s package raydbg', files: {[`${venv}/raydbg`]: 'namesake'}, offers: 'ws/.venv',
   told: /\.venv\/bin\/raydbg is another program, of PyPI's package raydbg\. To get the right one: pip uninstall raydbg, and pip install 'raydbg-bridge==0\.1\.\*'$/},
  {title: 'the program of PyPI\'s package raydbg before the right one', files: {'p/raydbg': 'namesake', 'q/raydbg': '0.1.0'},
   path: `p${path.delimiter}q`, takes: 'q/raydbg', logs: /p\/raydbg: is another program/},
  {title: 'a file that is no program', files: {'p/raydbg': 'text'}, path: 'p', told: /p\/raydbg does not run: it is no executable file/},
  {title: 'a program of another machine', files: {'p/raydbg': 'foreign'}, path: 'p', told: /p\/raydbg does not run: /},
  {title: 'nothing, with an environment', files: {[`${venv}/python`]: 'text'}, offers: 'ws/.venv',
   told: /^raydbg was not found: neither in the Python environment .*\/ws\/\.venv nor on PATH\. To get it: pip install raydbg-bridge$/, logs: /none fits/},
  {title: 'nothing at all', files: {}, told: /^raydbg was not found: this workspace has no Python environment, and PATH has no raydbg\. To get it: pip install raydbg-bridge$/,
   logs: /no Python environment is selected/},
];

async function searchCase(one: Case, directory: string): Promise<Search> {
  const at = (name: string): string => path.join(directory, name);
  for (const [name, what] of Object.entries(one.files)) {
    fs.mkdirSync(path.dirname(at(name)), {recursive: true});
    fs.writeFileSync(at(name), texts[what] ?? `#!/bin/sh\n[ "$*" = version ] && echo raydbg ${what}\n`, {mode: what === 'text' ? 0o644 : 0o755});
  }
  return searchProgram({
    setting: one.setting ? at(one.setting) : '', extensionPath: at('ext'), folders: (one.folders ?? ['ws']).map(at),
    selected: () => {
      assert.notEqual(one.selected, 'asked too early');
      return Promise.resolve(one.selected && at(one.selected));
    },
    variables: {HOME: at('home'), PATH: (one.path ?? '').split(path.delimiter).map((name) => name && at(name)).join(path.delimiter),
      ...(one.env ? {VIRTUAL_ENV: at(one.env)} : {})},
  }, '0.1.0');
}

for (const [index, one] of cases.entries()) {
  test(one.title, async () => {
    const directory = path.join(root, String(index));
    const search = await searchCase(one, directory);
    assert.equal(search.program && path.relative(directory, search.program.path), one.takes);
    const problem = searchProblem(search, 'linux');
    if (one.told) assert.match(problem ?? '', one.told);
    else assert.equal(problem, undefined);
    if (one.logs) assert.match(searchLines(search).join('\n'), one.logs);
    assert.match(searchLines(search)[0] ?? '', /^looking for raydbg 0\.1$/);
    if (one.told) assert.equal(installTarget(search)?.name, one.offers && path.join(directory, one.offers));
  });
}

test('where raydbg does not run, the message says where it does', async () => {
  const search = await searchCase({title: '', files: {}}, path.join(root, 'elsewhere'));
  assert.match(searchProblem(search, 'darwin') ?? '', /runs on Linux/);
});

test('what installs it', () => {
  const environment = (name: string, files: Record<string, string>): Parameters<typeof installCommand>[0] => {
    const directory = path.join(root, name);
    fs.mkdirSync(path.join(directory, 'bin'), {recursive: true});
    for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(directory, file), text);
    return {name: directory, origin: '', bin: path.join(directory, 'bin'), python: path.join(directory, 'bin/python3')};
  };
  const withPip = environment('with-pip', {'pyvenv.cfg': 'home = /usr/bin\nuv = 0.9.1\n', 'bin/pip': ''});
  assert.deepEqual(installCommand(withPip, '0.1.4'), [withPip.python, '-m', 'pip', 'install', 'raydbg-bridge==0.1.*']);
  const ofUv = environment('of-uv', {'pyvenv.cfg': 'home = /usr/bin\nuv = 0.9.1\n'});
  assert.deepEqual(installCommand(ofUv, '0.1.4'), ['uv', 'pip', 'install', '--python', ofUv.python, 'raydbg-bridge==0.1.*']);
  const bare = environment('bare', {'pyvenv.cfg': 'home = /usr/bin\nversion = 3.11\n'});
  assert.deepEqual(installCommand(bare, '0.1.4').slice(0, 2), [bare.python, '-m']);
});
