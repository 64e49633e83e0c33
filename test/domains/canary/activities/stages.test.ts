import { describe, expect, it } from 'vitest';
import { canaryStages } from '../../../../src/domains/canary/activities/stages.js';
import type { Json, JsonObject, StageContext } from '../../../../src/ports/stage.js';

const STAGE_MS = 1_600;

function unwanted(): never {
  throw new Error('nobody asked the canary for harm');
}

const stages = canaryStages({
  find: () => Promise.resolve({ stageMs: [STAGE_MS, 0, 0], units: 0, decision: false, faults: [] }),
  isLive: () => Promise.resolve(false),
  self: { kill: unwanted, freeze: unwanted, spin: unwanted, eat: unwanted },
});

/** Runs one attempt at the first stage. Returns the progress that it reported and the checkpoints that it kept. */
async function attempt(checkpoint: Json, keep: StageContext['keep'] = () => Promise.resolve()) {
  const reports: JsonObject[] = [];
  const kept: Json[] = [];
  await stages.first({
    item: { id: 'some', pipeline: 'canary', owner: 'ada', visit: 1 },
    ...{ unit: '', attempt: 1, checkpoint, signal: new AbortController().signal },
    progress: (report) => reports.push(report),
    keep(value) {
      kept.push(value);
      return keep(value);
    },
  });
  return { from: Number(reports[0]?.['doneMs']), kept };
}

describe('a stage of a canary', () => {
  it('keeps a checkpoint, from which the next attempt goes on', async () => {
    const first = await attempt(null);
    expect(first.from).toBe(0);
    const [kept] = first.kept as [{ doneMs: number }];
    expect(kept.doneMs).toBeGreaterThanOrEqual(1_000);

    expect((await attempt(kept)).from).toBe(kept.doneMs);
  });

  it('goes on when its checkpoint cannot be kept', async () => {
    const { kept } = await attempt(null, () => Promise.reject(new Error('the database is away')));
    expect(kept).toHaveLength(1);
  });
});
