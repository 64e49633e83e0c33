import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';
import { layersPlugin } from './eslint-layers.js';

const noEnum = { selector: 'TSEnumDeclaration', message: 'Use a union or an `as const` table.' };
const noDefaultExport = { selector: 'ExportDefaultDeclaration', message: 'Export by name.' };
const noClock = {
  selector: "NewExpression[callee.name='Date'][arguments.length=0]",
  message: 'Take `now` as an argument.',
};

/** Names that bring in the clock, chance, the network, the environment or output. */
const impure = ['process', 'console', 'fetch', 'crypto', 'performance', 'setTimeout', 'setInterval', 'setImmediate'];
const nodeGlobals = [
  ...impure,
  ...['AbortController', 'AbortSignal', 'Buffer', 'TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams'],
  ...['clearImmediate', 'clearInterval', 'clearTimeout', 'queueMicrotask', 'structuredClone'],
];

const everywhere = {
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'func-style': ['error', 'declaration', { allowArrowFunctions: true }],
  'max-params': ['error', 4],
  'no-constant-condition': 'error',
  'no-debugger': 'error',
  'no-dupe-keys': 'error',
  'no-else-return': 'error',
  // A caught error that nobody looks at hides the fault: say in the block why it may be passed over.
  'no-empty': 'error',
  'no-fallthrough': 'error',
  'no-nested-ternary': 'error',
  'no-self-compare': 'error',
  'no-unreachable': 'error',
  'no-unsafe-finally': 'error',
  'no-useless-assignment': 'error',
  'no-var': 'error',
  'object-shorthand': 'error',
  'prefer-const': 'error',
  'preserve-caught-error': 'error',
};

export default defineConfig(
  globalIgnores(['coverage/', 'dist/', '.unstuck/', 'src/db/generated/', 'test/histories/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' }, rules: everywhere },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // An adapter or a handler may have to be async by its type and have nothing to wait for.
      '@typescript-eslint/require-await': 'off',
      // What factories return closes over its data and reads no `this`.
      '@typescript-eslint/unbound-method': 'off',
      'no-restricted-syntax': ['error', noEnum, noDefaultExport],
    },
  },
  {
    files: ['**/*.{js,mjs}'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { globals: Object.fromEntries(nodeGlobals.map((name) => [name, 'readonly'])) },
    rules: {
      'no-undef': 'error',
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      'no-restricted-syntax': ['error', noDefaultExport],
    },
  },
  {
    files: ['src/**/*.ts'],
    plugins: { layers: layersPlugin },
    rules: {
      'layers/who-may-import-whom': 'error',
      // The house rule is two levels; a guard inside the second (`if (…) continue;`) is not a level to a reader.
      'max-depth': ['error', 3],
      'no-console': 'error',
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/config.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only src/config.ts reads it.' },
      ],
      'no-restricted-imports': [
        'error',
        ...['process', 'node:process'].map((name) => ({
          name,
          importNames: ['env'],
          message: 'Only src/config.ts reads it.',
        })),
      ],
    },
  },
  {
    files: ['src/core/**/*.ts', 'src/domains/tables.ts', 'src/domains/*/table.ts', 'src/domains/*/core/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...impure.map((name) => ({ name, message: 'Pure: data and `now` in, data out.' })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Take `now` as an argument.' },
        { object: 'Math', property: 'random', message: 'Pure: take it as an argument.' },
      ],
      'no-restricted-syntax': ['error', noEnum, noDefaultExport, noClock],
    },
  },
  {
    // Time and chance are the sandbox's own there, and replayed; the rest of Node is missing.
    files: ['src/workflows/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', 'process', 'fetch', 'crypto', 'performance', 'Buffer', 'setImmediate'],
    },
  },
  {
    // The tools ask for a default export.
    files: ['*.config.{ts,js}', 'test/support/{global-setup,summary-reporter}.ts'],
    rules: { 'no-restricted-syntax': ['error', noEnum] },
  },
);
