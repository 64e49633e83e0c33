import { expect, it, onTestFinished } from 'vitest';
import type { IsolatedWork } from '../../../src/activities/isolation.js';
import { createIsolation } from '../../../src/start/parts/isolation.js';
import { loadConfig } from '../../../src/start/parts/from-domains.js';

it('a process that the system refuses to start ends with the reason, whatever the way of the refusal', async () => {
  // Longer than a variable of a new process may be.
  process.env['TEST_TOO_LONG'] = 'x'.repeat(200_000);
  onTestFinished(() => void delete process.env['TEST_TOO_LONG']);
  const isolation = createIsolation(loadConfig({}), 'postgres://nobody@127.0.0.1:1/none');
  const child = isolation.start({} as IsolatedWork);
  expect(await child.ended).toBe('could not be started (spawn E2BIG)');
});
