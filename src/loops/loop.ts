import type { Logger } from 'pino';

export interface Loop {
  /** Do a turn now. */
  wake(): void;
  /** When the last turn ended without an error; null before the first. */
  lastTurnAt(): Date | null;
  /** Resolves when the turn that runs has ended. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  everyMs: number;
  /** In the log, when a turn failed. */
  name: string;
  logger: Logger;
  /** True: there is more to do, and the next turn comes at once. */
  turn(): Promise<boolean | void>;
}

/** Does a turn at once and then again and again, each after the last has ended. A turn that fails is one line. */
export function startLoop({ everyMs, name, logger, turn }: LoopOptions): Loop {
  let stopped = false;
  let lastTurnAt: Date | null = null;
  let wake: () => void = () => undefined;

  async function run(): Promise<void> {
    while (!stopped) {
      const isBusy = await oneTurn();
      // Stopped meanwhile, there was no pause yet that could be ended.
      if (!stopped && !isBusy) await pause();
    }
  }
  async function oneTurn(): Promise<boolean | void> {
    try {
      const isBusy = await turn();
      lastTurnAt = new Date();
      return isBusy;
    } catch (error) {
      logger.warn({ err: error, loop: name }, 'a turn failed; it is made again');
    }
  }
  function pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, everyMs);
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
      stopped = true;
      wake();
      await running;
    },
  };
}
