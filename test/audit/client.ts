import { setTimeout as delay } from 'node:timers/promises';

/** Sends one request again and again, always the same, until it gets an answer that counts. */
export interface Client {
  post(path: string, key: string, body: object): Promise<Answered>;
  /** Null: no answer this time. */
  look(path: string): Promise<Record<string, unknown> | null>;
  readonly tries: Tries;
}

export interface Answered {
  status: number;
  body: Record<string, unknown>;
}

interface Tries {
  sent: number;
  /** No answer at all, or one that says "later": each was sent again. */
  repeated: number;
}

/** An answer that does not come by then is taken as lost, as a careful client would. */
const ANSWER_WITHIN_MS = 10_000;

/** Between two tries, doubling: a client that is polite to a server in trouble, but wants its answer. */
const AGAIN_AFTER_MS = { first: 150, most: 1_200 };

/** What says "later" and nothing else. */
const LATER = new Set([429, 502, 503, 504]);

/** A client that outlives the API: whatever happens to a request, it is repeated with the same key until it is answered. */
export function createClient(url: string, token: string, over: AbortSignal): Client {
  const tries: Tries = { sent: 0, repeated: 0 };

  async function request(path: string, init: RequestInit): Promise<Answered | null> {
    tries.sent += 1;
    try {
      const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
      const headers = { ...init.headers, authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const response = await fetch(`${url}${path}`, { ...init, headers, signal });
      const body = (await response.json()) as Record<string, unknown>;
      return LATER.has(response.status) ? null : { status: response.status, body };
    } catch {
      return null; // the API is gone, or went while it answered: what became of the request is not known
    }
  }

  return {
    tries,
    async post(path, key, body) {
      for (let waitMs = AGAIN_AFTER_MS.first; ; waitMs = Math.min(2 * waitMs, AGAIN_AFTER_MS.most)) {
        const init = { method: 'POST', headers: { 'idempotency-key': key }, body: JSON.stringify(body) };
        const answer = await request(path, init);
        if (answer) return answer;
        tries.repeated += 1;
        await delay(waitMs, undefined, { signal: over });
      }
    },
    async look(path) {
      const answer = await request(path, { method: 'GET' });
      return answer?.status === 200 ? answer.body : null;
    },
  };
}
