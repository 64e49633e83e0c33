import { Context } from '@temporalio/activity';

/** Well below the heartbeat timeout of the scheduled activities. */
const BEAT_MS = 1_000;

/** Beats while the work goes on, and stops waiting for it when the activity is cancelled or the worker shuts down. The
 *  work commits row by row, and the next attempt goes on from there. The work sees the same stop by the cancellation
 *  signal of its context. */
export function beatWhile<Input, Answer>(work: (input: Input) => Promise<Answer>): (input: Input) => Promise<Answer> {
  return async (input) => {
    const context = Context.current();
    const timer = setInterval(() => {
      context.heartbeat();
    }, BEAT_MS);
    try {
      return await Promise.race([work(input), context.cancelled]);
    } finally {
      clearInterval(timer);
    }
  };
}
