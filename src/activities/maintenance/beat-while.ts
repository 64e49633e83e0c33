import { Context } from '@temporalio/activity';

/** Well below the heartbeat timeout of what is scheduled. */
const BEAT_MS = 1_000;

/** Beats while the work's promise lives, and gives up on it when it is cancelled or the worker shuts down: what it did is
 *  committed row by row, and the next one goes on from there. The work sees the same by its context's cancellation signal. */
export function beating<Input, Answer>(work: (input: Input) => Promise<Answer>): (input: Input) => Promise<Answer> {
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
