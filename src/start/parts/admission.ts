import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Config } from '../../config.js';
import { AppError } from '../../core/errors.js';
import {
  copyProblem,
  type ForeignSchedule,
  foreignProblem,
  type Membership,
  nameProblem,
} from '../../core/installation.js';
import type { ScheduleRow } from '../../core/schedules.js';
import { ensureIdentity, keepName, readPlace } from '../../db/postgres/installation.js';
import type { Sql } from '../../ports/sql.js';
import { findForeignSchedule } from '../../temporal/find-foreign-schedule.js';
import type { WorkerMembership } from '../../temporal/refuse-foreign-tasks.js';
import { RefusedError } from './refused-error.js';

function refuse(problem: string | null): void {
  if (problem !== null) throw new RefusedError(problem);
}

/** Returns the installation's id. Throws RefusedError where the database is a copy, or is known in Temporal by another name. */
export async function assertOwnDatabase(sql: Sql, { installation }: Pick<Config, 'installation'>): Promise<string> {
  const identity = await ensureIdentity(sql);
  refuse(copyProblem(identity, await readPlace(sql)));
  refuse(nameProblem(identity, installation));
  return identity.id;
}

interface Asked {
  config: Config;
  sql: Sql;
  client: Client;
  /** The schedules that tell whose names these are. */
  rows: readonly ScheduleRow[];
}

/** Throws RefusedError where the names that this process would use in Temporal belong to another installation. Otherwise the name is
 *  kept, so that every later process of this database uses the same. */
export async function assertOwnNames({ config, sql, client, rows }: Asked, id: string): Promise<void> {
  const { installation: name } = config;
  const schedules = rows.map((row) => row.id);
  const foreign = await findForeignSchedule(client, schedules, { id, name });
  if (foreign) throw refusalOf(foreign, config, id);
  refuse(nameProblem(await keepName(sql, name), name));
}

function refusalOf(foreign: ForeignSchedule, { installation: name, temporal }: Config, id: string): RefusedError {
  return new RefusedError(foreignProblem(foreign, { id, name, namespace: temporal.namespace }));
}

/** A worker that is given a task of another installation looks again whose names these are: the other installation may have come to
 *  the namespace later. */
export interface NameWatch {
  lookAgain(): void;
  throwIfRefused(): void;
}

/** Calls `onRefused` once, when the names are found to belong to another installation. */
export function watchNames(asked: Asked, id: string, onRefused: () => void): NameWatch {
  let looking: Promise<void> | undefined;
  let refusal: RefusedError | undefined;
  async function look(): Promise<void> {
    try {
      await assertOwnNames(asked, id);
    } catch (error) {
      // A server that does not answer is asked again at the next such task.
      if (error instanceof RefusedError) refusal = error;
    }
    if (refusal) onRefused();
    else looking = undefined;
  }
  return {
    lookAgain: () => {
      looking ??= look();
    },
    throwIfRefused: () => {
      if (refusal) throw refusal;
    },
  };
}

/** For a worker. Waits until the process is admitted: a worker must not poll before. */
export async function membershipOf({
  name,
  admitted,
}: Pick<Admission, 'name' | 'admitted'>): Promise<WorkerMembership> {
  return { name, id: await admitted };
}

/** Whether this process may drive its database's items in its namespace. */
export interface Admission extends Membership {
  id(): string;
  /** Resolves with the id when both servers have answered. Rejects when the process is refused or stopped. */
  admitted: Promise<string>;
  /** Rejects when the process is refused, at its start or later. It never resolves. */
  refused: Promise<never>;
  /** A schedule under our name belongs to another installation. */
  refuse(foreign: ForeignSchedule): void;
}

/** Between tries at a server that is away. */
const RETRY_MS = 1_000;

/** Asks both servers until they answer, so that the API can serve reads meanwhile. */
export function seekAdmission(parts: Asked & { logger: Logger }, stop: AbortSignal): Admission {
  const { config, sql, logger } = parts;
  let id: string | undefined;
  let reject: (why: Error) => void = () => undefined;
  const refused = new Promise<never>((_, onRefused) => {
    reject = onRefused;
  });

  async function seek(): Promise<string> {
    for (;;) {
      try {
        const found = await assertOwnDatabase(sql, config);
        await assertOwnNames(parts, found);
        id = found;
        return found;
      } catch (error) {
        stop.throwIfAborted();
        if (error instanceof RefusedError) throw error;
        logger.warn({ err: error }, 'not known whether this installation may use the namespace; asking again');
        await delay(RETRY_MS, undefined, { signal: stop });
      }
    }
  }
  const admitted = seek();
  admitted.catch((error: unknown) => {
    if (error instanceof RefusedError) reject(error);
  });
  refused.catch(() => undefined); // the process awaits it later
  return {
    name: config.installation,
    id() {
      if (id !== undefined) return id;
      throw new AppError('engine_unavailable', 'it is not known yet whether this installation may use the namespace');
    },
    admitted,
    refused,
    refuse: (foreign) => {
      reject(refusalOf(foreign, config, id ?? ''));
    },
  };
}
