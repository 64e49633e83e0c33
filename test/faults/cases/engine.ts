import { until } from '../../support/until.js';
import { type FaultCase, STAGES, WALKED, walkedWith } from '../fault-case.js';
import { SEEN_MS } from '../settings.js';

/** Temporal is there, and the API can't reach it. */

function unreachable(how: 'cut' | 'stall', name: string): FaultCase {
  let isDamaged = false;
  return {
    reason: 'engine_unreachable',
    name,
    before: ['not_due', 'start_lost'],
    seenWithinMs: SEEN_MS.byTemporal,
    // No sweep can run.
    heldUntil: 'stuck',
    async create({ installation, admin }) {
      const at = Date.now();
      installation.wires.apiToTemporal[how]();
      isDamaged = true;
      return { id: await admin.submit({}), at };
    },
    holds: async () => isDamaged,
    async heals({ installation, admin }) {
      const health = await admin.get('/health/ready');
      if (health.body['status'] !== 'degraded') throw new Error(`health is ${String(health.body['status'])}`);
      isDamaged = false;
      installation.wires.apiToTemporal.heal();
      await until('health is well again', async () => (await admin.get('/health/ready')).body['status'] === 'ok');
    },
    expects: {
      // It was submitted under the fault.
      sentence:
        /^Temporal does not answer, so nobody knows whether it was started; its last sign of life was [\d.]+ s ago\.$/,
      evidence: { state: 'FIRST', beatAt: /Z$/ },
      nextAction: 'It goes on when Temporal is back.',
      nextAt: 'none',
      ends: 'DONE',
      receipts: [],
      // When Temporal is back the dispatcher starts it, or a sweep that comes before.
      orReceipts: [{ reason: 'start_lost', actorType: 'system', result: 'moving', stagesAgain: [] }],
      trail: WALKED,
      orTrail: walkedWith('rescue (system)'),
      effects: STAGES,
    },
  };
}

export const CUT = [unreachable('cut', 'the wire from the API to Temporal is cut')];
export const STALLED = [unreachable('stall', 'the wire from the API to Temporal carries nothing')];
