/** Gives turns one at a time, in the order in which they were asked for. */
export interface Turns {
  /** Waits for a turn. A caller whose signal is aborted leaves the queue at once. `tell` is called with the number of
   *  callers ahead when the wait begins and whenever that number changes; 0: the turn has come. Returns the function
   *  that passes the turn on. */
  take(signal: AbortSignal, tell: (ahead: number) => void): Promise<() => void>;
}

interface Waiting {
  begin(): void;
  tell(ahead: number): void;
}

export function createTurns(): Turns {
  const waiting: Waiting[] = [];
  let isTaken = false;

  function passOn(): void {
    const next = waiting.shift();
    isTaken = next !== undefined;
    next?.begin();
    tellAll();
  }

  /** The caller that has the turn is ahead of all that wait, so the first has one ahead. */
  function tellAll(): void {
    for (const [at, each] of waiting.entries()) each.tell(at + 1);
  }

  function wait(signal: AbortSignal, tell: (ahead: number) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const self: Waiting = {
        begin() {
          signal.removeEventListener('abort', leave);
          resolve();
        },
        tell,
      };
      function leave(): void {
        waiting.splice(waiting.indexOf(self), 1);
        reject(signal.reason as Error);
        tellAll();
      }
      signal.addEventListener('abort', leave, { once: true });
      tell(waiting.push(self));
    });
  }

  return {
    async take(signal, tell) {
      signal.throwIfAborted();
      if (isTaken) await wait(signal, tell);
      isTaken = true;
      tell(0);
      return passOn;
    },
  };
}
