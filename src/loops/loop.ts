import type { Logger } from 'pino';

export interface Loop {
  /** Ends the pause, so that the next turn begins now. During a turn it does nothing. */
  wake(): void;
  /** When the last turn ended without an error; null before the first. */
  lastTurnAt(): Date | null;
  /** Resolves when the running turn has ended. No turn begins after that. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  /** The pause between two turns, and after a turn that failed. */
  everyMs: number;
  /** Names the loop in the log line of a turn that failed. */
  name: string;
  logger: Logger;
  /** May return the pause before the next turn, in milliseconds: 0 while more work is waiting. Without it, the pause is
   *  `everyMs`. */
  turn(): Promise<number | void>;
}

/** Takes a turn at once and then again and again; a turn begins only after the last has ended. A turn that fails writes
 *  one log line and does not end the loop. */
export function startLoop({ everyMs, name, logger, turn }: LoopOptions): Loop {
  let isStopped = false;
  let lastTurnAt: Date | null = null;
  let wake: () => void = () => undefined;

  async function run(): Promise<void> {
    while (!isStopped) {
      const pauseMs = (await takeTurn()) ?? everyMs;
      // After a stop during the turn nothing would end the pause.
      if (!isStopped && pauseMs > 0) await pause(pauseMs);
    }
  }
  async function takeTurn(): Promise<number | void> {
    try {
      const pauseMs = await turn();
      lastTurnAt = new Date();
      return pauseMs;
    } catch (error) {
      logger.warn({ err: error, loop: name }, 'a turn failed; it is made again');
    }
  }
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
  const running = run();
  return {
    wake: () => {
      wake();
    },
    lastTurnAt: () => lastTurnAt,
    async stop() {
      isStopped = true;
      wake();
      await running;
    },
  };
}
