/** Bundles the extension and its webviews' pages into dist/; with --test the unit tests into dist/test/. */
import {build} from 'esbuild';
import {readdirSync} from 'node:fs';

const common = {bundle: true, logLevel: 'warning', legalComments: 'none'};
const node = {...common, platform: 'node', target: 'node20', format: 'cjs', external: ['vscode']};

if (process.argv.includes('--test')) {
  const entryPoints = readdirSync('test').filter((name) => name.endsWith('.test.ts')).map((name) => `test/${name}`);
  await build({...node, entryPoints, outdir: 'dist/test', sourcemap: 'inline'});
} else {
  await build({...node, entryPoints: ['src/extension.ts'], outdir: 'dist', minify: true});
  await build({...common, platform: 'browser', target: 'es2022', format: 'iife',
    entryPoints: readdirSync('src/webview').filter((name) => name.endsWith('-page.ts')).map((name) => `src/webview/${name}`), outdir: 'dist', minify: true});
}
