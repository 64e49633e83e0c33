import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from './client.js';

/** What a canary was asked to do. */
export interface Asked {
  stageMs: [number, number, number];
  units: number;
  decision: boolean;
}

/** What the client was told, kept by the client: the database is held against it. */
export interface Entry {
  key: string;
  asked: Asked;
  /** The id in the answer that accepted it; null until there was one. */
  id: string | null;
  decided: boolean;
  /** When it is worth a look whether it awaits its decision, and how long to wait after that look. */
  lookAt: number;
  lookAgainMs: number;
}

export interface Ledger {
  entries: Entry[];
  /** Answers that no client should get: a refusal of what is right, two ids for one key. */
  complaints: string[];
  /** Live items whose answer gave no reason for where they stand. */
  withoutReason: string[];
  /** Sends it until it is accepted; `copies` of it at once, as an impatient client would. */
  submit(asked: Asked, copies?: number): Promise<void>;
  /** Sends every canary once more: each key must be answered as before. */
  submitAllAgain(): Promise<void>;
  /** Approves every canary that awaits a decision, until told to stop. */
  decideUntil(stop: AbortSignal): Promise<void>;
}

/** How much a client does side by side: enough to keep the API busy, not so much that it is the test of the machine. */
export const LANES = 8;

/** Between two rounds of the decider. */
const ROUND_MS = 200;

/** A canary that does not await its decision yet is looked at again after this long, doubling: looking costs the API most of
 *  all, and where many are late it must not keep them so. */
const LOOK_AGAIN_MS = { first: 1_500, most: 6_000 };

const UNSEEN = { lookAt: 0, lookAgainMs: LOOK_AGAIN_MS.first };

export function openLedger(client: Client): Ledger {
  const ledger: Ledger = { entries: [], complaints: [], withoutReason: [], submit, submitAllAgain, decideUntil };

  async function submit(asked: Asked, copies = 1): Promise<void> {
    const entry: Entry = { key: randomUUID(), asked, id: null, decided: false, ...UNSEEN };
    ledger.entries.push(entry);
    await Promise.all(Array.from({ length: copies }, () => send(entry)));
  }

  async function send(entry: Entry): Promise<void> {
    const { status, body } = await client.post('/api/v1/canaries', entry.key, entry.asked);
    const id = String(body['id']);
    if (status !== 202) ledger.complaints.push(`a canary was answered ${String(status)}: ${JSON.stringify(body)}`);
    else if (entry.id !== null && entry.id !== id) ledger.complaints.push(`one key, two items: ${entry.id} and ${id}`);
    else if (entry.id === null) {
      entry.id = id;
      entry.lookAt = Date.now() + entry.asked.stageMs[0] + entry.asked.stageMs[1];
    }
  }

  async function submitAllAgain(): Promise<void> {
    await inLanes([...ledger.entries], send);
  }

  async function decideUntil(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await inLanes(ledger.entries.filter(isDue), async (entry) => {
        if (!stop.aborted) await decideIfAsked(entry);
      });
      await delay(ROUND_MS);
    }
  }

  async function decideIfAsked(entry: Entry): Promise<void> {
    entry.lookAt = Date.now() + entry.lookAgainMs;
    entry.lookAgainMs = Math.min(2 * entry.lookAgainMs, LOOK_AGAIN_MS.most);
    const path = `/api/v1/items/${String(entry.id)}`;
    const item = await client.look(path);
    if (!item) return;
    if (!reasonIn(item)) ledger.withoutReason.push(String(entry.id));
    if (item['state'] !== 'AWAITING') return;
    const { status, body } = await client.post(`${path}/decisions`, `decide-${entry.key}`, { outcome: 'approve' });
    if (status === 200) entry.decided = true;
    else ledger.complaints.push(`a decision was answered ${String(status)}: ${JSON.stringify(body)}`);
  }

  return ledger;
}

function isDue({ asked, id, decided, lookAt }: Entry): boolean {
  return asked.decision && id !== null && !decided && lookAt <= Date.now();
}

/** The reason and the sentence that an answer gives for where its item stands. */
export function reasonIn(item: Record<string, unknown>): string | undefined {
  const { reason, sentence } = (item['diagnosis'] ?? {}) as { reason?: string; sentence?: string };
  return reason && sentence ? `${reason}: ${sentence}` : undefined;
}

/** Does the work for each, a few side by side. */
export async function inLanes<T>(waiting: T[], work: (one: T) => Promise<void>): Promise<void> {
  async function lane(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
  }
  await Promise.all(Array.from({ length: LANES }, lane));
}
