import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Config } from '../../config.js';
import { adminTokenIn } from '../embedded/installation.js';
import { StartError } from '../embedded/start-error.js';

/** A client of the installation's API, like any other client. Every failure is thrown as a sentence. */
export interface ApiClient {
  call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Response>;
  /** The parsed answer. Throws a sentence for a problem, or if the answer is not from our API. */
  read<T>(response: Response, schema: z.ZodType<T>): Promise<T>;
}

export interface ApiClientOptions {
  /** The name of the command, for its sentences. */
  name: string;
  url: string;
  token: string;
  /** Whose token the command needs at least. */
  whose: "an admin's" | "a reviewer's" | "a user's";
}

/** The API answers in milliseconds. An API that is starved of CPU may need seconds. */
const ANSWER_WITHIN_MS = 10_000;

/** A busy API says when to come back: at most a minute later, when its rate limit begins anew. */
const TRIES = 5;
const MAX_WAIT_MS = 61_000;

/** The request is refused for what it asks. The API's own sentence says why, and what to ask instead. */
const REFUSALS: readonly number[] = [400, 404, 409];

const Problem = z.object({ detail: z.string() });

export function createApiClient({ name, url, token, whose }: ApiClientOptions): ApiClient {
  async function send(path: string, request: RequestInit): Promise<Response> {
    try {
      return await fetch(`${url}${path}`, { ...request, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    } catch (cause) {
      throw new StartError(
        `${name}: nothing answers at ${url}. Start the installation with npm start, or name its API with --url.`,
        { cause },
      );
    }
  }

  return {
    async call(method, path, body) {
      const headers = { authorization: `Bearer ${token}`, 'idempotency-key': randomUUID() };
      const json = { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
      for (let tries = 1; ; tries += 1) {
        const response = await send(path, { method, ...(body === undefined ? { headers } : json) });
        const isBusy = response.status === 429 || response.status === 503;
        if (!isBusy || tries === TRIES) return response;
        await pause(waitOf(response));
      }
    },
    async read(response, schema) {
      const body: unknown = await response.json().catch(() => undefined);
      if (response.ok) {
        const answer = schema.safeParse(body);
        if (answer.success) return answer.data;
        throw new StartError(`${name}: what answers at ${url} is not the API of this installation.`);
      }
      const told = Problem.safeParse(body).data?.detail;
      const why = told ?? `status ${response.status}`;
      if (response.status === 401) {
        throw new StartError(`${name}: the API at ${url} refused the token: ${why}. Give ${whose} with --token.`);
      }
      if (response.status === 403) {
        throw new StartError(`${name}: the token may not do this: ${why}. Give ${whose} with --token.`);
      }
      if (told !== undefined && REFUSALS.includes(response.status)) throw new StartError(`${name}: ${why}.`);
      throw new StartError(`${name}: the API at ${url} did not do its part: ${why}.`);
    },
  };
}

function waitOf(response: Response): number {
  const seconds = Number(response.headers.get('retry-after') ?? 1);
  return Math.min((Number.isFinite(seconds) ? seconds : 1) * 1_000, MAX_WAIT_MS);
}

/** The given token, or the admin's token of the installation here. */
export function tokenFor(name: string, given: string | undefined, { dataDir }: Config): string {
  const token = given ?? adminTokenIn(dataDir);
  if (token !== undefined) return token;
  throw new StartError(
    `${name}: there is no token in ${dataDir}, where npm start keeps the admin's. Give one with --token, or set DATA_DIR.`,
  );
}
