import { join } from 'node:path';
import { canary } from '../../../src/domains/canary/table.js';
import { writeUnfitBundle } from '../../support/bundle.js';
import { itemOf } from '../../support/facts.js';
import { spawnWorker, type WorkerChild } from '../../support/spawn-worker.js';
import { type FaultCase, STAGES, SUBMITTED } from '../fault-case.js';
import { SEEN_MS } from '../settings.js';
import { releaseWorkers, takeWorkersAway } from './workers.js';

/** A deployment whose workflow code does not fit the runs that are on their way. */

let unfit: WorkerChild | undefined;

const wedged: FaultCase = {
  reason: 'wedged',
  name: 'workers with workflow code that does not fit the run',
  before: ['backlog'],
  seenWithinMs: SEEN_MS.byTemporal,
  heldUntil: 'swept',
  isListedOnceSwept: true,
  async create(field) {
    const { admin, installation } = field;
    const { temporalAddress, pool, folder } = installation;
    const databaseUrl = pool.options.connectionString ?? '';
    const codePath = join(folder, 'unfit-workflows.js');
    await writeUnfitBundle(codePath);
    const id = await admin.submit({ decision: true });
    await admin.reaches(id, 'AWAITING');
    await takeWorkersAway(field);
    unfit = await spawnWorker({ databaseUrl, directUrl: databaseUrl, temporalAddress, table: canary, codePath });
    const at = Date.now();
    await admin.post(`/api/v1/items/${id}/decisions`, { outcome: 'approve' });
    return { id, at };
  },
  async holds(field, { id }) {
    const { state, epoch } = await itemOf(field.installation.pool, id);
    return state === 'THIRD' && epoch === 1 && (await field.runOf(id)).status === 'RUNNING';
  },
  async heals(field, { id }) {
    // Nobody may take the old run up before it is given up: it would go on by itself.
    await unfit?.end();
    const { status, body } = await field.admin.post(`/api/v1/items/${id}/retry`, { reason: 'the old code is back' });
    if (status !== 200) throw new Error(`the retry was answered ${JSON.stringify(body)}`);
    await releaseWorkers(field);
  },
  expects: {
    sentence: /^Its run fails again and again before it can do anything: .*[Nn]ondeterminism/,
    evidence: { state: 'THIRD', failure: /[Nn]ondeterminism/ },
    nextAction: 'A person must mend the cause and retry it.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [{ reason: 'wedged', actorType: 'admin', result: 'moving', stagesAgain: [] }],
    trail: [
      ...[SUBMITTED, 'first-done (worker)', 'second-ask (worker)', 'owner-approve (admin)'],
      ...['rescue (admin)', 'third-done (worker)'],
    ],
    // The old run closes when a worker comes back. Until then a sweep finds it left over.
    mayTrail: 'leftover-run-ended (system)',
    effects: STAGES,
  },
};

export const UNFIT_CODE = [wedged];
