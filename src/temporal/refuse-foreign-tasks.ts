import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { installationIn, isForeign } from '../core/installation.js';

/** The installation of a worker. */
export interface WorkerMembership {
  name: string;
  id: string;
  /** Told of every task of another installation that Temporal has given to this worker. */
  onForeign?(): void;
}

/** A worker of the run's own installation takes the task at the next try or at a later one. If that installation is gone for good, its
 *  runs stay open, so the waits grow. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** Refuses activities of another installation's runs before they reach the database: the item's row is not here, or it is a copy. The
 *  arguments of an activity name the installation; those of a run from an older version do not. */
export function refuseForeignTasks({ id, onForeign }: WorkerMembership): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute(input, next) {
        const [argument] = input.args as [Readonly<Record<string, unknown>> | undefined];
        if (!isForeign(argument, id)) return next(input);
        onForeign?.();
        throw ApplicationFailure.create({
          message: `this run belongs to installation ${String(installationIn(argument))}, and this worker to installation ${id}; stop this worker, or give its installation another TEMPORAL_NAMESPACE or INSTALLATION`,
          type: 'foreign_installation',
          nextRetryDelay: Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (info.attempt - 1)),
        });
      },
    },
  });
}
