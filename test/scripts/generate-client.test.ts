import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clientStep } from '../../scripts/generate-client.mjs';
import { cloneOf } from './clone.js';

/** Prisma takes two seconds, and many on a busy machine. */
describe('the database client', { timeout: 120_000 }, () => {
  it('is generated when it is missing or its schema has changed, and only then', async () => {
    const clone = cloneOf({
      files: ['prisma', 'prisma.config.ts', 'package.json'],
      packages: ['prisma', '@prisma/client'],
    });
    expect(clientStep.isNeeded(clone)).toBe(true);

    await clientStep.run(clone);
    expect(existsSync(join(clone.root, 'src/db/generated/client.ts'))).toBe(true);
    expect(clientStep.isNeeded(clone)).toBe(false);

    const schema = join(clone.root, 'prisma/schema.prisma');
    const text = readFileSync(schema, 'utf8');
    writeFileSync(schema, `${text}\n// changed\n`);
    expect(clientStep.isNeeded(clone)).toBe(true);

    writeFileSync(schema, text);
    expect(clientStep.isNeeded(clone)).toBe(false);
    rmSync(join(clone.root, 'src'), { recursive: true });
    expect(clientStep.isNeeded(clone)).toBe(true);
  });
});
