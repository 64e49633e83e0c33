import { hostname } from 'node:os';
import { openSession } from '../../db/postgres/session.js';
import { reportExit } from '../../db/recovery/workers.js';

/** Tells the registry that a process of this machine has ended. Whoever watches acts on it at once; it spares them the time that
 *  a lock must be gone, and works while none of them has seen the process live. */
export async function reportFall(url: string, pid: number): Promise<void> {
  const session = await openSession({ url, name: 'supervisor' });
  try {
    await reportExit(session, { host: hostname(), pid });
  } finally {
    session.close();
  }
}
