import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { PrismaClient } from '../generated/client.js';

export type Prisma = PrismaClient;

/** For reads and administration, over the pool the hot path uses: one number of connections to plan for. */
export function createPrisma(pool: pg.Pool): Prisma {
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}
