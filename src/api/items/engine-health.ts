import type { Engine } from '../../ports/engine.js';

export interface EngineHealth {
  /** Whether the engine answers, as of a few seconds ago at most. */
  isThere(): Promise<boolean>;
}

/** A read that is a few seconds old is good enough to mark an answer as degraded by. */
const GOOD_FOR_MS = 5_000;

/** Readers do not wait for an engine that does not answer. */
const PATIENCE_MS = 2_000;

/** Asks at most once every few seconds, whoever wants to know. */
export function createEngineHealth(engine: Pick<Engine, 'ping'>): EngineHealth {
  let asked: { at: number; answer: Promise<boolean> } | undefined;
  return {
    isThere() {
      const now = performance.now();
      if (!asked || now - asked.at > GOOD_FOR_MS) asked = { at: now, answer: answers(engine) };
      return asked.answer;
    },
  };
}

async function answers(engine: Pick<Engine, 'ping'>): Promise<boolean> {
  return within(PATIENCE_MS, engine.ping()).then(
    () => true,
    () => false,
  );
}

/** Gives up on a promise that takes too long; what becomes of it then is nobody's business. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${String(ms)} ms`));
    }, ms);
  });
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
