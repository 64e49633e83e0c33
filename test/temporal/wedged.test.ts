import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { taskOf } from '../support/facts.js';
import { writeUnfitBundle } from '../support/bundle.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { untilAborted, useStack } from '../support/worker.js';

const stack = useStack();

/** Asks for some seconds: the workflow task fails, is created again, and waits for a worker in between. */
const LOOKS = 150;

it('a run that fails again and again is wedged, though each wake makes its task a new one', async () => {
  const codePath = join(tmpdir(), `unstuck-unfit-${String(process.pid)}.js`);
  onTestFinished(() => rmSync(codePath, { force: true }));
  await writeUnfitBundle(codePath);
  const line = stack.line(straight);
  const fit = await line.work();
  const run = await line.start({ read: untilAborted() });
  await until('it is on its way', async () => {
    const task = await taskOf(stack.pool, run.itemId, 'read').catch(() => null);
    return task?.status === 'running';
  });
  await fit.stop();
  await line.work({ codePath });

  const wedgedBy = async (): Promise<string | false | null> => {
    const look = await stack.engine.describe(run);
    return look.is === 'alive' && look.wedgedBy;
  };
  // Wakes come so often that a failing task is never tried a third time.
  const waking = setInterval(() => void stack.engine.wake(run), 500);
  onTestFinished(() => clearInterval(waking));
  const wedged = await until('it is wedged', wedgedBy);
  expect(wedged).toMatch(/nondeterminism/i);

  const looks: unknown[] = [];
  await until('it was looked at often', async () => looks.push(await wedgedBy()) >= LOOKS);
  expect(new Set(looks)).toEqual(new Set([wedged]));
});
