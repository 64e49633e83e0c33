import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';
import { describe, expect, it } from 'vitest';

// Files that do not exist have no types: the typed rules are tried on a real file's name below.
const untyped = new ESLint({
  overrideConfig: [
    tseslint.configs.disableTypeChecked,
    { languageOptions: { parserOptions: { projectService: false } } },
  ],
});
const typed = new ESLint();

async function rulesBroken(eslint: ESLint, file: string, text: string): Promise<(string | null)[]> {
  const results = await eslint.lintText(text, { filePath: file, warnIgnored: true });
  return results.flatMap(({ messages }) => messages.map(({ ruleId }) => ruleId));
}

function importing(name: string): string {
  return `import { thing } from '${name}';\nexport const used = thing;\n`;
}

const layers = 'layers/who-may-import-whom';

describe('who may import whom', () => {
  it.each([
    ['src/core/x.ts', '../domains/tables.js'],
    ['src/core/x.ts', 'node:fs'],
    ['src/core/x.ts', 'zod'],
    ['src/core/x.ts', 'yaml'],
    ['src/core/deep/x.ts', '../../db/items.js'],
    ['src/workflows/x.ts', '../domains/tables.js'],
    ['src/workflows/x.ts', '../activities/stage-runner.js'],
    ['src/workflows/x.ts', '@temporalio/client'],
    ['src/workflows/x.ts', 'zod'],
    ['src/ports/x.ts', '../db/items.js'],
    ['src/ports/x.ts', '../core/span.js'],
    ['src/activities/x.ts', '../temporal/connection.js'],
    ['src/activities/x.ts', '../api/app.js'],
    ['src/activities/x.ts', 'pg'],
    ['src/activities/x.ts', '@temporalio/client'],
    ['src/adapters/x.ts', '../db/items.js'],
    ['src/adapters/x.ts', '../loops/courier.js'],
    ['src/loops/x.ts', '../api/app.js'],
    ['src/loops/x.ts', '../temporal/connection.js'],
    ['src/api/x.ts', '../loops/courier.js'],
    ['src/db/x.ts', '../telemetry/logger.js'],
    ['src/db/x.ts', '../ports/engine.js'],
    ['src/temporal/x.ts', '../db/items.js'],
    ['src/temporal/x.ts', 'pg'],
    ['src/telemetry/x.ts', '../db/items.js'],
    ['src/api/x.ts', '../temporal/connection.js'],
    ['src/api/x.ts', '../activities/stage-runner.js'],
    ['src/api/items/x.ts', '@temporalio/client'],
    ['src/api/x.ts', '@prisma/client/runtime/client'],
    ['src/db/x.ts', '@fastify/helmet'],
    ['src/config.ts', './db/items.js'],
    ['src/core/x.ts', '../../test/support/postgres.js'],
    ['src/unheard-of/x.ts', '../core/span.js'],
    // Inside a domain the same rules hold, by the folder behind the domain's name.
    ['src/domains/canary/table.ts', '../../ports/engine.js'],
    ['src/domains/canary/table.ts', '../../config.js'],
    ['src/domains/canary/core/x.ts', 'zod'],
    ['src/domains/canary/core/x.ts', '../db/canaries.js'],
    ['src/domains/canary/core/x.ts', '../../../db/spine/items.js'],
    ['src/domains/canary/db/x.ts', '../api/canaries.js'],
    ['src/domains/canary/api/x.ts', '../../../temporal/connection.js'],
    ['src/domains/canary/activities/deep/x.ts', '../../../../loops/loop.js'],
    ['src/domains/canary/unheard-of/x.ts', '../../../core/span.js'],
    // The engine knows no domain, and no domain knows another.
    ['src/core/x.ts', '../domains/canary/core/canary-settings.js'],
    ['src/api/x.ts', '../domains/canary/api/canaries.js'],
    ['src/api/x.ts', '../domains/domains.js'],
    ['src/start/x.ts', '../domains/canary/domain.js'],
    ['src/domains/canary/core/x.ts', '../../submission/core/verdict/rejection.js'],
    ['src/domains/canary/start/x.ts', '../../submission/start/judge.js'],
    ...['core', 'workflows', 'loops', 'activities', 'adapters', 'db', 'temporal', 'telemetry', 'api'].flatMap(
      (folder) => [
        [`src/${folder}/x.ts`, '../start/secrets.js'],
        [`src/${folder}/x.ts`, '../config.js'],
      ],
    ),
  ])('%s must not import %s', async (file, name) => {
    expect(await rulesBroken(untyped, file, importing(name))).toEqual([layers]);
  });

  it.each([
    ['src/core/x.ts', './span.js'],
    ['src/core/deep/x.ts', '../span.js'],
    ['src/workflows/x.ts', '@temporalio/workflow'],
    ['src/workflows/x.ts', '../core/step.js'],
    ['src/activities/deep/x.ts', '../stage-runner.js'],
    ['src/activities/deep/x.ts', '../../db/items.js'],
    ['src/adapters/x.ts', '../core/errors.js'],
    ['src/loops/x.ts', '../db/items.js'],
    ['src/adapters/x.ts', '../ports/engine.js'],
    ['src/db/x.ts', 'pg'],
    ['src/temporal/x.ts', '@temporalio/client'],
    ['src/api/items/x.ts', '../../db/items.js'],
    ['src/config.ts', './core/span.js'],
    ['src/config.ts', './domains/tables.js'],
    ['src/start/x.ts', '../config.js'],
    ['src/start/x.ts', '../domains/domains.js'],
    ['src/domains/tables.ts', './canary/table.js'],
    ['src/domains/domains.ts', './canary/domain.js'],
    ['src/domains/canary/table.ts', '../../core/pipeline.js'],
    ['src/domains/canary/domain.ts', './api/canaries.js'],
    ['src/domains/canary/domain.ts', '../../start/parts/domain.js'],
    ['src/domains/canary/core/x.ts', 'yaml'],
    ['src/domains/canary/core/x.ts', '../../../core/span.js'],
    ['src/domains/canary/db/x.ts', '../core/canary-settings.js'],
    ['src/domains/canary/db/x.ts', '../../../db/spine/items.js'],
    ['src/domains/canary/adapters/x.ts', '../core/canary-settings.js'],
    ['src/domains/canary/api/x.ts', '../db/canaries.js'],
    ['src/domains/canary/start/x.ts', '../../../config.js'],
    ['src/start/x.ts', '../../scripts/any.mjs'],
    ['test/db/x.ts', '../../src/start/secrets.js'],
  ])('%s may import %s', async (file, name) => {
    expect(await rulesBroken(untyped, file, importing(name))).toEqual([]);
  });

  it('lets workflows see the types of activities, and nothing else of them', async () => {
    const type = `import type { Activities } from '../activities/stage-runner.js';\nexport type Used = Activities;\n`;
    const inline = `import { type Activities } from '../activities/stage-runner.js';\nexport type Used = Activities;\n`;
    expect(await rulesBroken(untyped, 'src/workflows/x.ts', type)).toEqual([]);
    // An inline type leaves `import {} from …` behind, which runs the module.
    expect(await rulesBroken(untyped, 'src/workflows/x.ts', inline)).toContain(layers);
  });

  it('lets the database code name the types of a port, and nothing else of it', async () => {
    const type = `import type { Sql } from '../ports/sql.js';\nexport type Used = Sql;\n`;
    expect(await rulesBroken(untyped, 'src/db/x.ts', type)).toEqual([]);
    expect(await rulesBroken(untyped, 'src/db/x.ts', importing('../ports/sql.js'))).toEqual([layers]);
  });

  it('lets every folder with no allow-list name the types of a package that is not its own', async () => {
    const text = `import type { Pool } from 'pg';\nexport type Used = Pool;\n`;
    expect(await rulesBroken(untyped, 'src/activities/x.ts', text)).toEqual([]);
    expect(await rulesBroken(untyped, 'src/core/x.ts', text)).toEqual([layers]);
  });

  it.each([
    ['a re-export', `export { thing } from '../db/items.js';\n`],
    ['a re-export of everything', `export * from '../db/items.js';\n`],
    ['an import at run time', `export const used = import('../db/items.js');\n`],
    ['an import of a computed name', `export const used = (name: string) => import(name);\n`],
    ['a require', `import items = require('../db/items.js');\nexport const used = items;\n`],
  ])('sees %s', async (_, text) => {
    expect(await rulesBroken(untyped, 'src/core/x.ts', text)).toContain(layers);
  });

  it('sees a type imported in place', async () => {
    const text = `export type Used = import('../db/items.js').Item;\n`;
    expect(await rulesBroken(untyped, 'src/core/x.ts', text)).toContain(layers);
  });
});

describe('house rules that lint enforces', () => {
  it.each([
    [
      'the environment outside config.ts',
      'src/db/x.ts',
      'export const home = process.env.HOME;\n',
      'no-restricted-properties',
    ],
    ['the environment taken apart', 'src/db/x.ts', 'export const { env } = process;\n', 'no-restricted-properties'],
    [
      'the environment by import',
      'src/db/x.ts',
      importing('node:process').replace(/thing/g, 'env'),
      'no-restricted-imports',
    ],
    ['console in src', 'src/db/x.ts', `console.log('hello');\n`, 'no-console'],
    ['a default export', 'src/db/x.ts', 'export default 1;\n', 'no-restricted-syntax'],
    ['an enum', 'src/db/x.ts', 'export enum Colour { Red }\n', 'no-restricted-syntax'],
    ['any', 'src/db/x.ts', 'export const thing: any = 1;\n', '@typescript-eslint/no-explicit-any'],
    [
      'five parameters',
      'src/db/x.ts',
      'export function f(a: 1, b: 1, c: 1, d: 1, e: 1) { return [a, b, c, d, e]; }\n',
      'max-params',
    ],
    ['an empty catch', 'src/db/x.ts', 'try { f(); } catch {}\nfunction f() { return 1; }\n', 'no-empty'],
    [
      'a lost cause',
      'src/db/x.ts',
      `try { f(); } catch (e) { throw new Error('no'); }\nfunction f() { return 1; }\n`,
      'preserve-caught-error',
    ],
    ['the clock in core', 'src/core/x.ts', 'export const at = new Date();\n', 'no-restricted-syntax'],
    ['Date.now in core', 'src/core/x.ts', 'export const at = Date.now();\n', 'no-restricted-properties'],
    [
      'chance in a table',
      'src/domains/canary/table.ts',
      'export const n = Math.random();\n',
      'no-restricted-properties',
    ],
    ['the environment in core', 'src/core/x.ts', 'export const home = process.env.HOME;\n', 'no-restricted-globals'],
    ['a timer in core', 'src/core/x.ts', 'setTimeout(() => undefined, 1);\n', 'no-restricted-globals'],
    ['Node in a workflow', 'src/workflows/x.ts', `export const b = Buffer.from('');\n`, 'no-restricted-globals'],
  ])('refuses %s', async (_, file, text, rule) => {
    expect(await rulesBroken(untyped, file, text)).toContain(rule);
  });

  it('lets config.ts, scripts and tests read the environment', async () => {
    const text = 'export const home = process.env.HOME;\n';
    for (const file of ['src/config.ts', 'scripts/x.mjs', 'test/x.ts']) {
      expect(await rulesBroken(untyped, file, text)).toEqual([]);
    }
  });

  it.each([
    [
      'a promise nobody waits for',
      'async function f() { return 1; }\nf();\n',
      '@typescript-eslint/no-floating-promises',
    ],
    [
      'a promise where a boolean belongs',
      'async function f() { return true; }\nif (f()) f;\n',
      '@typescript-eslint/no-misused-promises',
    ],
    [
      'a switch with a case missing',
      `export function f(x: 'a' | 'b') { switch (x) { case 'a': return 1; } return 2; }\n`,
      '@typescript-eslint/switch-exhaustiveness-check',
    ],
    [
      'a type imported as a value',
      `import { ESLint } from 'eslint';\nexport type Used = ESLint;\n`,
      '@typescript-eslint/consistent-type-imports',
    ],
  ])(
    'refuses %s',
    async (_, text, rule) => {
      expect(await rulesBroken(typed, 'src/core/span.ts', text)).toContain(rule);
    },
    // The first of them type-checks the whole project.
    120_000,
  );
});
