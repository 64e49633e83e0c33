import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { CanarySettings } from '../../pipelines/canary-settings.js';
import { StartError } from '../start-error.js';
import type { EffectSeen } from './verdict.js';

/** What the drill asks of the installation's API, as any client would. */
export interface DrillApi {
  /** Throws a sentence where the API is not there or does not take the token. */
  assertAdmitted(): Promise<void>;
  submitCanary(settings: Pick<CanarySettings, 'stageMs' | 'faults'>): Promise<string>;
  findCanary(id: string): Promise<{ state: string; effects: EffectSeen[] }>;
  /** Resolves when the item has ended, by this or before. */
  cancel(id: string): Promise<void>;
}

/** The API answers in milliseconds; one that is starved of CPU by a drill may need seconds. */
const ANSWER_WITHIN_MS = 10_000;

/** A busy API says when to come back: at most a minute later, when its rate limit begins anew. */
const TRIES = 5;
const MAX_WAIT_MS = 61_000;

/** There is no such item; only one who is signed in is told so. */
const NIL = '00000000-0000-0000-0000-000000000000';

const Accepted = z.object({ id: z.string() });
const Canary = z.object({
  state: z.string(),
  effects: z.array(z.object({ visit: z.int(), stage: z.string(), unit: z.string() })),
});
const Problem = z.object({ detail: z.string() });

/** Bounded in time by itself, and not ended with the drill: a drill that is called off cancels its canaries. */
export function createDrillApi(url: string, token: string): DrillApi {
  async function call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': randomUUID() };
    const json = { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
    for (let tries = 1; ; tries += 1) {
      const response = await send(path, { method, ...(body === undefined ? { headers } : json) });
      const isBusy = response.status === 429 || response.status === 503;
      if (!isBusy || tries === TRIES) return response;
      await pause(waitOf(response));
    }
  }

  async function send(path: string, request: RequestInit): Promise<Response> {
    try {
      return await fetch(`${url}${path}`, { ...request, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    } catch (cause) {
      throw new StartError(
        `drill: nothing answers at ${url}. Start the installation with npm start, or name its API with --url.`,
        { cause },
      );
    }
  }

  return {
    async assertAdmitted() {
      const response = await call('GET', `/api/v1/items/${NIL}`);
      if (response.status !== 404) await read(url, response, Accepted);
    },
    async submitCanary(settings) {
      const response = await call('POST', '/api/v1/canaries', settings);
      return (await read(url, response, Accepted)).id;
    },
    async findCanary(id) {
      return read(url, await call('GET', `/api/v1/canaries/${id}`), Canary);
    },
    async cancel(id) {
      const response = await call('POST', `/api/v1/items/${id}/cancel`, { reason: 'the drill was called off' });
      if (response.status !== 409) await read(url, response, Accepted);
    },
  };
}

function waitOf(response: Response): number {
  const seconds = Number(response.headers.get('retry-after') ?? 1);
  return Math.min((Number.isFinite(seconds) ? seconds : 1) * 1_000, MAX_WAIT_MS);
}

async function read<T>(url: string, response: Response, schema: z.ZodType<T>): Promise<T> {
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok) {
    const answer = schema.safeParse(body);
    if (answer.success) return answer.data;
    throw new StartError(`drill: what answers at ${url} is not the API of this installation.`);
  }
  const why = Problem.safeParse(body).data?.detail ?? `status ${response.status}`;
  if (response.status === 401) {
    throw new StartError(`drill: the API at ${url} refused the token: ${why}. Give an admin's with --token.`);
  }
  if (response.status === 403) {
    throw new StartError(`drill: the token is not an admin's: ${why}. Give an admin's with --token.`);
  }
  throw new StartError(`drill: the API at ${url} did not do its part: ${why}.`);
}
