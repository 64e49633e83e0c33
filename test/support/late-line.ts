import type { Socket } from 'node:net';

/** One direction of a wire: what is said arrives in order, and as late as the wire is slow. */
export interface LateLine {
  write(chunk: Buffer): void;
  end(): void;
  /** Delivers at once what is still on its way. */
  flush(): void;
}

export function createLateLine(to: Pick<Socket, 'write' | 'end'>, delayMs: () => number): LateLine {
  const onTheWay: { arrive(): void; timer: NodeJS.Timeout }[] = [];

  function send(arrive: () => void): void {
    const ms = delayMs();
    if (ms === 0 && onTheWay.length === 0) return arrive();
    // Each timer delivers what is first in line, so that nothing is overtaken when the delay changes.
    onTheWay.push({ arrive, timer: setTimeout(() => onTheWay.shift()?.arrive(), ms) });
  }
  return {
    write: (chunk) => send(() => to.write(chunk)),
    end: () => send(() => to.end()),
    flush() {
      for (const { arrive, timer } of onTheWay.splice(0)) {
        clearTimeout(timer);
        arrive();
      }
    },
  };
}
