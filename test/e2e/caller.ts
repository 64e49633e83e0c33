import type { Installation } from '../support/installation.js';
import { until } from '../support/until.js';

/** One user of an installation, over HTTP as everybody. */
export interface Caller {
  get(path: string): Promise<Answer>;
  post(path: string, body: object, headers?: Record<string, string>): Promise<Answer>;
  /** Submits a canary and returns its id. */
  submit(canary: object): Promise<string>;
  /** Comes back when the item is in that state. */
  reaches(id: string, state: string, withinMs?: number): Promise<void>;
}

export interface Answer {
  status: number;
  body: { [field: string]: unknown; state?: string; diagnosis?: { reason: string } };
}

/** After a fault an item may have to wait for a back-off or two. */
const REACHES_WITHIN_MS = 40_000;

export async function callerOf({ url, token }: Installation, subject: string, roles?: string[]): Promise<Caller> {
  const authorization = `Bearer ${await token(subject, roles)}`;

  /** A machine that is busy with other tests may turn requests away unseen; they are sent again. */
  async function ask(path: string, init: RequestInit): Promise<Answer> {
    return until('the API has time', async () => {
      const response = await fetch(`${url}${path}`, init);
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json') ?? false;
      const body = (isJson ? JSON.parse(text) : { text }) as Answer['body'];
      return body['code'] === 'overloaded' ? null : { status: response.status, body };
    });
  }
  const get = (path: string): Promise<Answer> => ask(path, { headers: { authorization } });
  function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
    const all = { authorization, 'content-type': 'application/json', ...headers };
    return ask(path, { method: 'POST', headers: all, body: JSON.stringify(body) });
  }
  return {
    get,
    post,
    async submit(canary) {
      const { status, body } = await post('/api/v1/canaries', canary);
      if (status !== 202) throw new Error(`the canary was answered ${String(status)}: ${JSON.stringify(body)}`);
      return String(body['id']);
    },
    async reaches(id, state, withinMs = REACHES_WITHIN_MS) {
      const isThere = async () => (await get(`/api/v1/items/${id}`)).body.state === state || null;
      await until(`${id} is in ${state}`, isThere, withinMs);
    },
  };
}
