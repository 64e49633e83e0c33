import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { takePidLock } from './pid-lock.mjs';

/** One set-up at a time on a clone: the second waits, and then finds nothing to do. */
export async function withSetupLock(context, work) {
  // In the data folder: ignored by git, and not below node_modules, which an installation deletes.
  const file = join(context.root, '.unstuck', 'setup.lock');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let lock = takePidLock(file);
  if (!lock.taken) context.say(`another set-up is running here (pid ${lock.pid ?? 'unknown'}); waiting for it`);
  while (!lock.taken) {
    await pause(200);
    lock = takePidLock(file);
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
}
