// Keeps one obedient child running, prints its pid, and waits to be killed.
import { join } from 'node:path';
import { nodePart } from '../../../src/start/embedded/node-part.js';
import { createSupervisor } from '../../../src/start/embedded/supervisor.js';

const supervisor = createSupervisor({ say: () => undefined });
const part = nodePart({
  name: 'child',
  script: join(import.meta.dirname, 'obedient.mjs'),
  environment: {},
  graceMs: 1_000,
  log: () => undefined,
  onSpawn: (pid) => process.stdout.write(`${pid}\n`),
});
await supervisor.start([part]);
