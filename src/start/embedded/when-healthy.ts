import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from './running.js';

const ASK_EVERY_MS = 250;
/** A sign of life while something takes its time. */
const SAY_EVERY_MS = 15_000;

/** Resolves when `GET /health/ready` answers 200 with status ok; says now and then what it waits for. */
export async function whenHealthy(baseUrl: string, say: Log, signal: AbortSignal): Promise<void> {
  let sayAt = Date.now() + SAY_EVERY_MS;
  for (;;) {
    const answer = await ask(`${baseUrl}/health/ready`);
    signal.throwIfAborted();
    if (answer === 'ok') return;
    if (Date.now() > sayAt) {
      say(`waiting until all is ready: ${baseUrl}/health/ready answers ${answer}`);
      sayAt = Date.now() + SAY_EVERY_MS;
    }
    await pause(ASK_EVERY_MS, undefined, { signal });
  }
}

async function ask(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    const { status } = (await response.json()) as { status?: string };
    return response.status === 200 && status === 'ok' ? 'ok' : `${response.status} ${status ?? ''}`;
  } catch {
    return 'nothing'; // not listening yet, or not our API
  }
}
