import { setTimeout as delay } from 'node:timers/promises';

/** Between two looks: short beside what is waited for, long beside what a look costs. */
const EVERY_MS = 40;

/** Only a broken promise gets there; a slow machine must not. */
const WITHIN_MS = 60_000;

/** Looks again and again until there is something to see, and gives that back. The one way a test waits. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  withinMs = WITHIN_MS,
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== false && seen !== null && seen !== undefined) return seen as Exclude<T, false | null | undefined>;
    if (performance.now() > deadline) throw new Error(`waited ${String(withinMs)} ms in vain until ${what}`);
    await delay(EVERY_MS);
  }
}
