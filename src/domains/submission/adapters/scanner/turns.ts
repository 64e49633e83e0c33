/** One at a time, in the order in which they came. */
export interface Turns {
  /** Waits for one's turn; whoever is aborted leaves at once, and nobody waits for him. `tell` hears how many are before, when it
   *  begins to wait and whenever that changes; 0: the turn has come. Returns what gives the turn to the next. */
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

  /** Whoever has the turn is before all of them. */
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
