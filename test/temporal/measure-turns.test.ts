import { expect, it, onTestFinished } from 'vitest';
import { findTemporalCli } from '../../scripts/find-temporal-cli.mjs';
import { startTemporal } from '../../src/start/embedded/embedded-temporal.js';
import { createTemporalClient } from '../../src/temporal/connection.js';
import { createTemporalEngine } from '../../src/temporal/engine.js';
import { measureTurns } from '../../src/temporal/measure-turns.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/until.js';

it.each([
  ['none', false],
  ['turns', true],
] as const)('finds %s where the setting is %s, and leaves nothing behind', async (turns, isFair) => {
  const server = await startTemporal({
    cliPath: findTemporalCli(),
    port: await freePort(),
    isFair,
    log: () => undefined,
  });
  onTestFinished(() => server.stop());
  const client = createTemporalClient({ address: server.address, namespace: 'default', tls: false });
  onTestFinished(() => client.connection.close());
  expect(await measureTurns(client, 'doctor-turns')).toBe(turns);
  const engine = createTemporalEngine(client);
  expect(await engine.heedsPriorities()).toBe(isFair);
  await until('its runs are deleted', async () => (await client.workflow.count()).count === 0);
});
