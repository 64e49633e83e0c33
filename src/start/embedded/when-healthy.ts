import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from './running.js';

const ASK_EVERY_MS = 250;
/** A sign of life while something takes its time. */
const SAY_EVERY_MS = 15_000;

export interface Waiting {
  /** False: nobody starts a worker here, so a health that lacks nothing else is well. */
  needsWorkers: boolean;
  say: Log;
  signal: AbortSignal;
}

/** Resolves when `GET /health/ready` answers 200 with status ok; says now and then what it waits for. */
export async function whenHealthy(baseUrl: string, { needsWorkers, say, signal }: Waiting): Promise<void> {
  let sayAt = Date.now() + SAY_EVERY_MS;
  for (;;) {
    const answer = await ask(`${baseUrl}/health/ready`, needsWorkers);
    signal.throwIfAborted();
    if (answer === 'ok') return;
    if (Date.now() > sayAt) {
      say(`waiting until all is ready: ${baseUrl}/health/ready answers ${answer}`);
      sayAt = Date.now() + SAY_EVERY_MS;
    }
    await pause(ASK_EVERY_MS, undefined, { signal });
  }
}

interface Health {
  status?: string;
  parts?: Record<string, { status: string }>;
}

async function ask(url: string, needsWorkers: boolean): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    const health = (await response.json()) as Health;
    const isWell = health.status === 'ok' || (!needsWorkers && lacksOnlyWorkers(health));
    return response.status === 200 && isWell ? 'ok' : `${response.status} ${health.status ?? ''}`;
  } catch {
    return 'nothing'; // not listening yet, or not our API
  }
}

function lacksOnlyWorkers({ parts = {} }: Health): boolean {
  const away = Object.entries(parts).filter(([, { status }]) => status !== 'ok');
  return away.length > 0 && away.every(([name]) => name === 'workers');
}
