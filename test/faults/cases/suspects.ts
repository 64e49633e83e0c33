import { taskOf } from '../../support/facts.js';
import { until } from '../../support/until.js';
import { type FaultCase, STAGES, WALKED, type WantedReceipt } from '../fault-case.js';
import type { Field } from '../field.js';
import { SEEN_MS } from '../settings.js';

/** Two stages that were running when the only worker died, twice. The worker has one place for an isolated stage. */

const DIED: WantedReceipt = { reason: 'worker_died', actorType: 'system', result: 'moving', stagesAgain: ['first'] };

async function crashesOf({ installation }: Field, id: string): Promise<{ status: string; crashes: number }> {
  return taskOf(installation.pool, id, 'first');
}

async function killUnder(field: Field, ids: readonly string[]): Promise<void> {
  const { installation } = field;
  await until('both are running', async () => {
    const tasks = await Promise.all(ids.map((id) => crashesOf(field, id)));
    return tasks.every(({ status }) => status === 'running');
  });
  const pid = await installation.kill('worker-1');
  await installation.backFrom('worker-1', pid);
}

const suspectWait: FaultCase = {
  reason: 'suspect_wait',
  name: 'two suspects and one worker',
  before: [],
  seenWithinMs: SEEN_MS.bySweep,
  heldUntil: 'swept',
  async create(field) {
    const { installation } = field;
    await installation.takeAway('worker-2');
    const ids = await Promise.all([1, 2].map(() => field.running('first', { stageMs: [60_000, 0, 0] })));
    await killUnder(field, ids);
    await until('both have been counted', async () =>
      (await Promise.all(ids.map((id) => crashesOf(field, id)))).every(({ crashes }) => crashes === 1),
    );
    const at = Date.now();
    await killUnder(field, ids);
    const id = await until('one of them waits', () => waitingOf(field, ids));
    return { id, at, others: ids.filter((each) => each !== id) };
  },
  async holds(field, { id, others = [] }) {
    const [waiting, rival] = await Promise.all([crashesOf(field, id), crashesOf(field, others[0] ?? '')]);
    return waiting.status === 'waiting' && waiting.crashes === 2 && rival.status === 'running';
  },
  async heals({ admin, installation }, { others = [] }) {
    await admin.post(`/api/v1/items/${others[0] ?? ''}/cancel`, { reason: 'it was this one' });
    installation.release('worker-2');
  },
  expects: {
    sentence:
      /^first was running 2 times when its process died, so it runs in a process of its own; all places for isolated stages are taken, and no suspects have waited longer\.$/,
    evidence: { stage: 'first', unit: '', crashes: 2, askedBefore: 0 },
    nextAction:
      'It asks again within seconds, and runs when a worker has a free place for an isolated stage (ISOLATED_STAGES).',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [DIED, DIED],
    trail: WALKED,
    effects: STAGES,
  },
};

async function waitingOf(field: Field, ids: readonly string[]): Promise<string | null> {
  const tasks = await Promise.all(ids.map(async (id) => ({ id, ...(await crashesOf(field, id)) })));
  const isSplit = tasks.every(({ crashes }) => crashes === 2) && tasks.some(({ status }) => status === 'running');
  return isSplit ? (tasks.find(({ status }) => status === 'waiting')?.id ?? null) : null;
}

export const SUSPECTS = [suspectWait];
