import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../src/core/errors.js';
import type { Answered, Client } from '../audit/client.js';
import { until } from '../support/until.js';

/** What stands in front of the APIs: sends to each in turn that says it is ready, over connections that it keeps, and
 *  nothing twice. Whatever is not answered well is a failed request. */
export interface Front extends Client {
  readonly failures: string[];
  /** Requests that an API turned away unseen, because the machine had no time for it. */
  readonly shed: { count: number };
  /** Requests that each API was sent. */
  countOf(name: string): number;
  /** Comes back when requests go there. */
  join(name: string, url: string): Promise<void>;
  /** Comes back when no request goes there any more, because its API said so. */
  left(name: string): Promise<void>;
  close(): Promise<void>;
}

interface Target {
  name: string;
  url: string;
  agent: Agent;
  isReady: boolean;
  sent: number;
}

interface Asked {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: object | undefined;
}

/** As load balancers do: for so long requests still go to an API that is leaving, which is told to stay for longer. */
const ASK_EVERY_MS = 1_000;

/** Longer than an API on a busy machine takes for anything. */
const ANSWER_WITHIN_MS = 30_000;

/** As many as a client of ours asks side by side, and the one that asks for health. */
const CONNECTIONS = 20;

/** `sendsShedAgain`: what is turned away unseen is no fault of the upgrade where others use the machine, too. */
export function createFront(token: string, sendsShedAgain: boolean): Front {
  const targets: Target[] = [];
  const failures: string[] = [];
  const shed = { count: 0 };
  const tries = { sent: 0, repeated: 0 };
  const closing = new AbortController();
  const watching: Promise<void>[] = [];
  let turn = 0;

  async function watch(target: Target): Promise<void> {
    while (!closing.signal.aborted) {
      const answer = await send(target, { method: 'GET', path: '/health/ready', headers: {} }).catch(() => null);
      const isReady = answer?.status === 200;
      // Whoever stands in front learns it late: at least one that is on its way meets an API that leaves.
      if (target.isReady && !isReady)
        await askAt(target, { method: 'GET', path: '/api/v1/items?limit=1', headers: {} });
      target.isReady = isReady;
      await delay(ASK_EVERY_MS);
    }
  }

  function nextTarget(): Target | undefined {
    const ready = targets.filter(({ isReady }) => isReady);
    turn += 1;
    return ready[turn % ready.length];
  }

  function ask(asked: Asked): Promise<Answered> {
    return askAt(nextTarget(), asked);
  }

  async function askAt(target: Target | undefined, asked: Asked): Promise<Answered> {
    const { method, path, headers, body } = asked;
    tries.sent += 1;
    const what = `${method} ${path} at ${target?.name ?? 'nobody'}`;
    try {
      if (!target) throw new Error('no API is ready');
      target.sent += 1;
      const all = { ...headers, authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await send(target, { method, path, headers: all, body });
      const isShed = answer.body['code'] === 'overloaded';
      if (isShed) shed.count += 1;
      if (isShed && sendsShedAgain) return await ask(asked);
      if (answer.status >= 400) failures.push(`${what}: ${String(answer.status)} ${JSON.stringify(answer.body)}`);
      return answer;
    } catch (error) {
      failures.push(`${what}: ${messageOf(error)}`);
      return { status: 0, body: {} };
    }
  }

  return {
    failures,
    shed,
    tries,
    countOf: (name) => targets.find((target) => target.name === name)?.sent ?? 0,
    async join(name, url) {
      const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
      const target: Target = { name, url, agent, isReady: false, sent: 0 };
      targets.push(target);
      watching.push(watch(target));
      await until(`${name} is ready`, () => target.isReady);
    },
    async left(name) {
      await until(`${name} says that it leaves`, () => !targets.find((target) => target.name === name)?.isReady);
    },
    post: (path, key, body) => ask({ method: 'POST', path, headers: { 'idempotency-key': key }, body }),
    async look(path) {
      const { status, body } = await ask({ method: 'GET', path, headers: {} });
      return status === 200 ? body : null;
    },
    async close() {
      closing.abort();
      await Promise.all(watching);
      for (const { agent } of targets) agent.destroy();
    },
  };
}

/** By hand, because `fetch` hides what becomes of a connection. */
function send({ url, agent }: Target, { method, path, headers, body }: Asked): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, agent, headers, timeout: ANSWER_WITHIN_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', reject).on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: text === '' ? {} : (JSON.parse(text) as Answered['body']) });
      });
    });
    sent.on('timeout', () => sent.destroy(new Error(`no answer for ${String(ANSWER_WITHIN_MS)} ms`)));
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
  });
}
