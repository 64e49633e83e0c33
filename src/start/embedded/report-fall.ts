import { hostname } from 'node:os';
import { openSession } from '../../db/postgres/session.js';
import { reportExit } from '../../db/recovery/workers.js';

/** Tells the registry that a process has ended, so that watchers act at once, also watchers that never saw the process. */
export async function reportFall(url: string, pid: number): Promise<void> {
  const session = await openSession({ url, name: 'supervisor' });
  try {
    await reportExit(session, { host: hostname(), pid });
  } finally {
    session.close();
  }
}
