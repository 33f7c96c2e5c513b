import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  {ignores: ['dist/', 'bin/', 'node_modules/']},
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {parserOptions: {project: ['tsconfig.json', 'src/webview/tsconfig.json'], tsconfigRootDir: import.meta.dirname}},
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', {allowNumber: true}],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      'max-lines-per-function': ['error', {max: 60, skipComments: true}],
      'max-lines': ['error', 500],
    },
  },
  {files: ['test/**'], rules: {'@typescript-eslint/no-floating-promises': 'off', 'max-lines-per-function': 'off'}},
  {files: ['*.mjs'], languageOptions: {globals: {process: 'readonly', console: 'readonly'}}},
);
