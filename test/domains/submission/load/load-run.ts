import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient } from '../../../audit/client.js';
import { inLanes } from '../../../audit/ledger.js';
import type { Installation } from '../../../support/installation.js';
import { ENDS, layRepository, type SkillKind } from '../support/many-skills.js';
import { until } from '../../../support/until.js';
import { liveCount, type LoadFacts, loadFacts, type Settled } from './load-facts.js';

export interface LoadOptions {
  items: number;
  /** So many are on their way at once at most; another is submitted when one has ended. */
  inFlight: number;
  /** Without one more that has ended: only a hung run gets there. */
  stallMs: number;
  say(line: string): void;
}

export interface LoadReport extends LoadFacts {
  items: number;
  inFlight: number;
  seconds: number;
  perSecond: number;
  /** What a client was told that it should not be: refused, or two ids for one request. */
  complaints: string[];
  lost: string[];
  elsewhere: string[];
}

interface Asked {
  kind: SkillKind;
  key: string;
  body: { repoUrl: string; skillName: string };
  id: string | null;
}

/** Submits so many skills of local repositories over HTTP, each its own, waits for the verdict of each, and holds the database
 *  against what the client was told. */
export async function runLoad(installation: Installation, options: LoadOptions): Promise<LoadReport> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-load-'));
  try {
    const asked = Array.from({ length: options.items }, (_, at) => askedOf(folder, at));
    options.say(`${String(options.items)} repositories are laid`);
    return await load(installation, asked, options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Of twenty, three must fail the scan and three must go to a person. */
function kindOf(at: number): SkillKind {
  if (at % 20 < 3) return 'hostile';
  return at % 20 < 6 ? 'mighty' : 'harmless';
}

function askedOf(folder: string, at: number): Asked {
  const kind = kindOf(at);
  return { kind, key: randomUUID(), body: layRepository(folder, kind, at), id: null };
}

async function load(installation: Installation, asked: Asked[], options: LoadOptions): Promise<LoadReport> {
  const { pool, url, token } = installation;
  const over = new AbortController();
  const client = createClient(url, await token('ada'), over.signal);
  const complaints: string[] = [];
  const startedAt = performance.now();
  const waiting = [...asked];
  while (waiting.length > 0) {
    const live = await settleTo(installation, options.inFlight - 1, options);
    await inLanes(waiting.splice(0, options.inFlight - live), (each) => submit(client, each, complaints));
  }
  options.say('all are submitted');
  await settleTo(installation, 0, options);
  const seconds = (performance.now() - startedAt) / 1_000;
  over.abort();
  const facts = await loadFacts(pool);
  const byId = new Map(facts.settled.map((each) => [each.id, each]));
  return {
    ...facts,
    ...{ items: options.items, inFlight: options.inFlight, seconds, perSecond: options.items / seconds, complaints },
    lost: asked.filter(({ id }) => id === null || !byId.has(id)).map(({ body }) => body.skillName),
    elsewhere: asked.flatMap((each) => strayOf(each, byId.get(each.id ?? ''))),
  };
}

/** Every tenth is sent twice at once, as by an impatient client, under one key: it must be told one id. */
async function submit(client: Client, asked: Asked, complaints: string[]): Promise<void> {
  const copies = Number(asked.body.skillName.endsWith('0')) + 1;
  const send = () => client.post('/api/v1/submissions', asked.key, asked.body);
  for (const { status, body } of await Promise.all(Array.from({ length: copies }, send))) {
    const id = String(body['id']);
    if (status !== 202) complaints.push(`${asked.body.skillName} was answered ${String(status)}`);
    else if (asked.id !== null && asked.id !== id) complaints.push(`${asked.body.skillName} has two ids`);
    else asked.id = id;
  }
}

function strayOf({ kind, body }: Asked, settled: Settled | undefined): string[] {
  if (!settled || settled.state === ENDS[kind]) return [];
  return [`${body.skillName} is in ${settled.state}, not in ${ENDS[kind]}`];
}

/** Comes back when no more than so many are on their way, with their number. */
async function settleTo({ pool }: Installation, most: number, { stallMs }: LoadOptions): Promise<number> {
  for (let live = await liveCount(pool); ;) {
    if (live <= most) return live;
    const before = live;
    live = await until(
      `fewer than ${String(before)} are on their way`,
      async () => {
        const now = await liveCount(pool);
        return now < before ? { now } : null;
      },
      stallMs,
    ).then(({ now }) => now);
  }
}
