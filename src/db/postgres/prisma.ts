import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { PrismaClient } from '../generated/client.js';

export type Prisma = PrismaClient;

/** For reads and administration. It uses the pool of the hot path, so that there is one number of connections to plan
 *  for. */
export function createPrisma(pool: pg.Pool): Prisma {
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}
