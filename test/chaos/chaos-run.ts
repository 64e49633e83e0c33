import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { canaryFrom } from '../audit/canary-mix.js';
import { createClient } from '../audit/client.js';
import { countLive } from '../audit/facts.js';
import { type Ledger, openLedger } from '../audit/ledger.js';
import { randomFrom } from '../audit/random.js';
import type { Installation } from '../support/installation.js';
import { until } from '../support/until.js';
import { type Inflicted, inflictAll } from './inflict.js';
import { endOf, overlapsIn, planOf, sentenceOf } from './plan.js';
import { auditChaos, type ChaosReport } from './report.js';

export interface ChaosOptions {
  items: number;
  /** How long there are faults, and canaries submitted. */
  forMs: number;
  seed: number;
  say(line: string): void;
}

const OWNER = 'chaos';

/** Longer than an item may take after healing, so that one that is late can be told from one that never comes. */
const SETTLES_WITHIN_MS = 100_000;

/** The client gives up on what is not answered even then. */
const CLIENT_LIMIT_MS = SETTLES_WITHIN_MS + 30_000;

const PROGRESS_EVERY_MS = 20_000;

/** Submits canaries at a steady pace while random faults hit every part, heals everything, waits and audits. */
export async function runChaos(installation: Installation, options: ChaosOptions): Promise<ChaosReport> {
  const { items, forMs, seed, say } = options;
  const plan = planOf(seed, forMs);
  say(`seed ${String(seed)}: ${String(plan.length)} faults, ${String(overlapsIn(plan))} of them begin during another`);
  for (const fault of plan) say(`  ${sentenceOf(fault)}`);
  const over = AbortSignal.timeout(forMs + CLIENT_LIMIT_MS);
  setMaxListeners(0, over); // every request that waits for its next try listens
  const client = createClient(installation.url, await installation.token(OWNER), over);
  const ledger = openLedger(client);
  const inflicted: Inflicted[] = [];
  const closing = new AbortController();
  const began = Date.now();
  const seconds = (): string => `${((Date.now() - began) / 1_000).toFixed(0)} s`;
  const progress = setInterval(() => say(`${seconds()}: ${progressOf(ledger, inflicted)}`), PROGRESS_EVERY_MS);
  const deciding = ledger.decideUntil(AbortSignal.any([closing.signal, over]));
  let healedAt = new Date();
  try {
    const submitting = submitSteadily(ledger, { items, forMs: endOf(plan), seed });
    await inflictAll(installation, plan, inflicted);
    // Nothing is damaged any more; that parts must still come up is part of what healing takes.
    healedAt = new Date();
    await installation.allRunning();
    say(`${seconds()}: all is healed; ${progressOf(ledger, inflicted)}`);
    await submitting;
    await until('all are done', () => isOver(installation), SETTLES_WITHIN_MS);
    await ledger.submitAllAgain();
  } catch (error) {
    // Time that is up, or a part that does not come back, ends the run and not its report.
    ledger.complaints.push(causesOf(error));
  } finally {
    closing.abort();
    clearInterval(progress);
    await deciding.catch((error: unknown) => ledger.complaints.push(causesOf(error)));
  }
  return auditChaos({ installation, owner: OWNER, client, ledger, inflicted, healedAt, plan });
}

/** Each canary at its time, whether those before were answered or not; comes back when all are. */
async function submitSteadily(ledger: Ledger, { items, forMs, seed }: Omit<ChaosOptions, 'say'>): Promise<void> {
  const random = randomFrom(seed + 1);
  const began = performance.now();
  const sent: Promise<void>[] = [];
  for (let at = 0; at < items; at += 1) {
    await delay(Math.max(0, (at * forMs) / items - (performance.now() - began)));
    sent.push(ledger.submit(canaryFrom(random)));
  }
  await Promise.all(sent);
}

/** A database that is just coming up has not said that nothing is live. */
async function isOver({ pool }: Installation): Promise<true | null> {
  const live = await countLive(pool, OWNER).catch(() => null);
  return live === 0 || null;
}

function progressOf({ entries }: Ledger, inflicted: readonly Inflicted[]): string {
  const accepted = entries.filter(({ id }) => id !== null).length;
  const present = inflicted.filter(({ to }) => to === null).map(({ fault }) => sentenceOf(fault));
  const now = present.length > 0 ? `; now ${present.join(' and ')}` : '';
  return `${String(accepted)} of ${String(entries.length)} canaries accepted, ${String(inflicted.length)} faults${now}`;
}

function causesOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${causesOf(error.cause)}`;
}
