import { setMaxListeners } from 'node:events';
import { canaryFrom } from '../audit/canary-mix.js';
import { type Client, createClient } from '../audit/client.js';
import { countEffectsSince, countLive, liveIds } from '../audit/facts.js';
import { inLanes, type Ledger, openLedger } from '../audit/ledger.js';
import { randomFrom } from '../audit/random.js';
import type { Installation } from '../support/installation.js';
import { until } from '../support/until.js';
import type { Phase } from './phases.js';

export interface CampaignOptions {
  /** Canaries that are kept in flight. */
  canaries: number;
  seed: number;
  /** After this long everything that is not done counts as stuck. */
  limitMs: number;
  say(line: string): void;
}

/** The client's side of a kill run: what it submitted, was told and saw. */
export interface Campaign {
  installation: Installation;
  owner: string;
  client: Client;
  ledger: Ledger;
  struck: Struck[];
  seconds(): number;
  /** Fills up, does the damage, and comes back when everything is back and work goes on. */
  strike(phase: Phase): Promise<void>;
  /** Waits until nothing is live; then asks for everything once more. */
  finish(): Promise<void>;
  /** Ends what goes on in the background. */
  close(): Promise<void>;
}

export interface Struck {
  phase: string;
  at: Date;
  inFlight: number;
  killed: string;
  /** What was in flight at the kill, and what was submitted in the phase. */
  concerned: Set<string>;
}

const OWNER = 'kills';

export async function openCampaign(installation: Installation, options: CampaignOptions): Promise<Campaign> {
  const { canaries, seed, limitMs, say } = options;
  const { pool, url } = installation;
  const began = Date.now();
  const left = (): number => Math.max(1, began + limitMs - Date.now());
  const seconds = (): number => Math.round((Date.now() - began) / 100) / 10;
  const over = AbortSignal.timeout(limitMs);
  setMaxListeners(0, over); // every request that waits for its next try listens
  const client = createClient(url, await installation.token(OWNER), over);
  const ledger = openLedger(client);
  const random = randomFrom(seed);
  const struck: Struck[] = [];
  const closing = new AbortController();
  const deciding = ledger.decideUntil(AbortSignal.any([closing.signal, over])).catch((error: unknown) => {
    if (!over.aborted) throw error; // time is up, and the campaign says so by itself
  });

  async function submit(count: number, copies = 1): Promise<void> {
    const wanted = Array.from({ length: count }, () => canaryFrom(random));
    await inLanes(wanted, (asked) => ledger.submit(asked, copies));
  }

  async function fill(): Promise<void> {
    for (let live = await countLive(pool, OWNER); live < canaries; live = await countLive(pool, OWNER)) {
      over.throwIfAborted();
      await submit(canaries - live);
    }
  }

  return {
    installation,
    owner: OWNER,
    client,
    ledger,
    struck,
    seconds,
    async strike(phase) {
      await fill();
      const live = await liveIds(pool, OWNER);
      const known = ledger.entries.length;
      const at = new Date();
      const killed = await phase.strike({ installation, owner: OWNER, size: canaries, random, submit });
      const submitted = ledger.entries.slice(known).flatMap(({ id }) => id ?? []);
      const concerned = new Set([...live, ...submitted]);
      struck.push({ phase: phase.name, at, inFlight: live.length, killed, concerned });
      await installation.ready(left());
      const ready = new Date();
      // Nothing more to do is as good: on a busy machine the last canary may be done before health says so.
      const goesOn = async () =>
        (await countEffectsSince(pool, ready)) > 0 || (await countLive(pool, OWNER)) === 0 || null;
      await until('work goes on', goesOn, left());
      say(`${String(seconds())} s: ${phase.name}: killed ${killed}; back, and work goes on`);
    },
    async finish() {
      say(`${String(seconds())} s: ${String(ledger.entries.length)} canaries submitted; waiting until all are done`);
      await until('all are done', async () => (await countLive(pool, OWNER)) === 0 || null, left());
      await ledger.submitAllAgain();
    },
    async close() {
      closing.abort();
      await deciding;
    },
  };
}
