import { expect, it } from 'vitest';
import { watchSleep } from '../../src/activities/watch-sleep.js';
import { until } from '../support/until.js';

it('a process that stood still says for how long, and soon forgets it', async () => {
  const sleptMs = watchSleep();
  const blocked = performance.now();
  while (performance.now() - blocked < 1_200);
  expect(sleptMs()).toBeGreaterThan(1_000);
  expect(sleptMs()).toBeGreaterThan(1_000);
  await until('it has forgotten it', () => sleptMs() < 1_000);
});
