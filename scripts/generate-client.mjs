import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './run-command.mjs';
import { hashOf, hasStamp, setStamp } from './stamps.mjs';

export const clientStep = {
  title: 'generating the database client',
  isNeeded: (context) =>
    !existsSync(join(context.root, 'src/db/generated/client.ts')) || !hasStamp(context, 'client', sourceOf(context)),
  async run(context) {
    await mustRun(process.execPath, ['node_modules/prisma/build/index.js', 'generate'], {
      context,
      title: this.title,
      // Any executable will do, because Prisma would download an engine that `generate` does not use. Never set this for
      // `prisma migrate`: it would exit with 0 and apply nothing.
      env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' },
      remedy: '`prisma generate` failed (its output is above).',
    });
    setStamp(context, 'client', sourceOf(context));
  },
};

function sourceOf(context) {
  return hashOf(context, ['prisma/schema', 'prisma.config.ts', 'node_modules/prisma/package.json']);
}
