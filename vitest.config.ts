import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** No servers: these run in seconds, before every commit. */
const unit = [
  'test/*.test.ts',
  'test/{config,core,telemetry}/**/*.test.ts',
  'test/domains/*.test.ts',
  'test/domains/*/*.test.ts',
  'test/domains/*/{core,adapters}/**/*.test.ts',
];

/** What `npm run check` measures besides core. It decides in core and acts on a real database, so it needs the servers. */
const maintenance = ['test/activities/maintenance/**/*.test.ts'];

export default defineConfig(({ mode }) => ({
  test: {
    // Threads crash with Temporal's native part.
    pool: 'forks',
    setupFiles: ['test/support/end-with-vitest.ts'],
    // Half the cores are for Postgres and Temporal. Three at least: most tests wait for a server most of the time.
    maxWorkers: Math.max(3, Math.floor(availableParallelism() / 2)),
    // Only a hung test gets there; a slow machine must not.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Postgres writes its last checkpoint and Temporal ends its sessions.
    teardownTimeout: 30_000,
    coverage: {
      provider: 'v8',
      include: ['src/core/**/*.ts', 'src/domains/*/core/**/*.ts', 'src/activities/maintenance/**/*.ts'],
      reporter: [['text', { skipFull: true }], 'json-summary'],
      thresholds: {
        'src/core/**': { lines: 80 },
        'src/domains/*/core/**': { lines: 80 },
        'src/activities/maintenance/**': { lines: 80 },
      },
    },
    projects: [
      { extends: true, test: { name: 'unit', include: unit } },
      {
        extends: true,
        test: {
          name: 'integration',
          include: mode === 'check' ? maintenance : ['test/**/*.test.ts'],
          exclude: unit,
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
    ],
  },
}));
