import type { Breaker as BreakerRecord } from '../generated/client.js';
import type { Prisma } from '../postgres/prisma.js';

export type { BreakerRecord };

/** Every breaker that ever opened. A closed breaker shows when it was last open. */
export async function listBreakers(prisma: Prisma): Promise<BreakerRecord[]> {
  return prisma.breaker.findMany({ orderBy: [{ pipeline: 'asc' }, { class: 'asc' }] });
}

/** The breakers that hold items back. */
export async function listOpenBreakers(prisma: Prisma): Promise<BreakerRecord[]> {
  return prisma.breaker.findMany({
    where: { state: { not: 'closed' } },
    orderBy: [{ pipeline: 'asc' }, { class: 'asc' }],
  });
}
