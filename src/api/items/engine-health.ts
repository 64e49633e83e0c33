import type { Engine } from '../../ports/engine.js';

export interface EngineHealth {
  /** Whether the engine answers, as of a few seconds ago at most. */
  isThere(): Promise<boolean>;
}

/** An answer of the engine that is a few seconds old is good enough to mark our own answer as degraded. */
const GOOD_FOR_MS = 5_000;

/** Readers do not wait for an engine that does not answer. */
const PATIENCE_MS = 2_000;

/** Asks the engine at most once every few seconds, however many callers want to know. */
export function createEngineHealth(engine: Pick<Engine, 'ping'>): EngineHealth {
  let asked: { at: number; answer: Promise<boolean> } | undefined;
  return {
    isThere() {
      const now = performance.now();
      if (!asked || now - asked.at > GOOD_FOR_MS) asked = { at: now, answer: doesAnswer(engine) };
      return asked.answer;
    },
  };
}

async function doesAnswer(engine: Pick<Engine, 'ping'>): Promise<boolean> {
  return giveUpAfter(PATIENCE_MS, engine.ping()).then(
    () => true,
    () => false,
  );
}

/** Rejects if the promise takes too long. The later result of the promise is ignored. */
export async function giveUpAfter<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${ms} ms`));
    }, ms);
  });
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
