/** Lets only so many batches be embedded at once in one process; the others wait in the order in which they came. */
export interface BatchTurns {
  /** Resolves when the caller's turn has come, with the function that ends it. `tell` gets the number of callers ahead when the wait
   *  begins and with each step forward, so a stage that waits shows that its wait goes on. */
  take(signal: AbortSignal, tell: (ahead: number) => void): Promise<() => void>;
}

interface Waiting {
  begin(): void;
  tell(ahead: number): void;
}

export function createBatchTurns(places: number): BatchTurns {
  const waiting: Waiting[] = [];
  let taken = 0;

  function tellAll(): void {
    for (const [at, each] of waiting.entries()) each.tell(at + 1);
  }

  function passOn(): void {
    const next = waiting.shift();
    if (next) next.begin();
    else taken -= 1;
    tellAll();
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
      if (taken < places) taken += 1;
      else await wait(signal, tell);
      return passOn;
    },
  };
}
