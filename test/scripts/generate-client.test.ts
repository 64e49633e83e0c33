import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clientStep } from '../../scripts/generate-client.mjs';
import { cloneOf } from './clone.js';

const PARTS = { files: ['prisma', 'prisma.config.ts', 'package.json'], packages: ['prisma', '@prisma/client'] };

/** Prisma takes two seconds, and many on a busy machine. */
describe('the database client', { timeout: 120_000 }, () => {
  it('is generated when it is missing or its schema has changed, and only then', async () => {
    const clone = cloneOf(PARTS);
    expect(clientStep.isNeeded(clone)).toBe(true);

    await clientStep.run(clone);
    expect(existsSync(join(clone.root, 'src/db/generated/client.ts'))).toBe(true);
    expect(clientStep.isNeeded(clone)).toBe(false);

    const schema = join(clone.root, 'prisma/schema/canary.prisma');
    const text = readFileSync(schema, 'utf8');
    writeFileSync(schema, `${text}\n// changed\n`);
    expect(clientStep.isNeeded(clone)).toBe(true);

    writeFileSync(schema, text);
    expect(clientStep.isNeeded(clone)).toBe(false);
    rmSync(join(clone.root, 'src'), { recursive: true });
    expect(clientStep.isNeeded(clone)).toBe(true);
  });

  it('is generated without the schema files of the domains, so that a domain is removed without a change to the engine', async () => {
    const clone = cloneOf(PARTS);
    const folder = join(clone.root, 'prisma/schema');
    const domains = readdirSync(folder).filter((name) => name !== 'engine.prisma');
    expect(domains.length).toBeGreaterThan(0);
    for (const name of domains) rmSync(join(folder, name));

    await clientStep.run(clone);

    const models = readdirSync(join(clone.root, 'src/db/generated/models'));
    expect(models).toContain('Item.ts');
    expect(models).not.toContain('Canary.ts');
  });
});
