import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import type { ReleasedWhy } from '../db/spine/attempt.js';
import type { JsonObject } from '../ports/stage.js';

/** Who listens to an attempt while it runs, and may ask it to stop. For a stage in a worker this is Temporal. For a stage in a process
 *  of its own it is the worker. */
export interface AttemptHost {
  /** A local activity: nobody expects beats. */
  isLocal: boolean;
  beat(progress: JsonObject | undefined): void;
  /** Calls back when the attempt has to stop. Superseded: the attempt must write nothing. */
  onStop(stop: (why: ReleasedWhy | 'superseded') => void): void;
}

/** The host of an attempt that runs as this activity. */
export function temporalHost(): AttemptHost {
  const context = Context.current();
  return {
    isLocal: context.info.isLocal,
    beat: (progress) => context.heartbeat(progress),
    onStop(stop) {
      context.cancelled.catch((error: unknown) => {
        if (error instanceof CancelledFailure) stop(whyOf(error));
      });
    },
  };
}

/** Temporal cancels an activity for several reasons, which it names in the message. */
function whyOf({ message }: CancelledFailure): ReleasedWhy {
  if (message === 'WORKER_SHUTDOWN') return 'shutdown';
  return message === 'NOT_FOUND' || message === 'TIMED_OUT' ? 'lost_sight' : 'cancelled';
}
