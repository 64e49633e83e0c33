import type { SelfHarm } from '../activities/stages.js';

/** Ten megabytes every ten milliseconds: fast enough for a test, slow enough that the process goes on beating. */
const BITE_NUMBERS = 1_250_000;
const BITE_EVERY_MS = 10;

/** What a stage does to its own process when an admin told it to. */
export const SELF_HARM: SelfHarm = {
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  freeze: () => void process.kill(process.pid, 'SIGSTOP'),
  spin() {
    for (;;) Math.random();
  },
  // On the heap of V8, whose own limit ends a worker that runs such a stage before the machine is out of memory.
  eat() {
    const eaten: number[][] = [];
    setInterval(() => eaten.push(Array.from({ length: BITE_NUMBERS }, Math.random)), BITE_EVERY_MS);
  },
};
