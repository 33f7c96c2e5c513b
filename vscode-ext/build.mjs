/** usage: node build.mjs [--test] [DIRECTORY]: bundles the extension and its webviews' pages, or the unit tests with a fake of
 * VS Code, into DIRECTORY. */
import {build} from 'esbuild';
import {readdirSync} from 'node:fs';
import {parseArgs} from 'node:util';

const {values, positionals} = parseArgs({options: {test: {type: 'boolean'}}, allowPositionals: true});
const outdir = positionals[0] ?? (values.test ? 'dist/test' : 'dist');
const common = {bundle: true, outdir, logLevel: 'warning', legalComments: 'none'};
const node = {...common, platform: 'node', target: 'node20', format: 'cjs', external: ['vscode']};

if (values.test) {
  const entryPoints = readdirSync('test').filter((name) => name.endsWith('.test.ts')).map((name) => `test/${name}`);
  await build({...node, entryPoints, sourcemap: 'inline', external: [], alias: {vscode: './test/fake-vscode.ts'}});
} else {
  await build({...node, entryPoints: ['src/extension.ts'], minify: true});
  await build({...common, platform: 'browser', target: 'es2022', format: 'iife',
    entryPoints: readdirSync('src/webview').filter((name) => name.endsWith('-page.ts')).map((name) => `src/webview/${name}`), minify: true});
}
