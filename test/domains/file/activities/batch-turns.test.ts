import { describe, expect, it } from 'vitest';
import { createBatchTurns } from '../../../../src/domains/file/activities/batch-turns.js';

const PATIENT = new AbortController().signal;

describe('the turns of batches', () => {
  it('come to so many at once, then in the order of asking; those who wait are told with each step', async () => {
    const turns = createBatchTurns(2);
    const ends = [await turns.take(PATIENT, () => undefined), await turns.take(PATIENT, () => undefined)];
    const [told, begun]: [number[], string[]] = [[], []];
    const third = turns.take(PATIENT, () => undefined).then((end) => (begun.push('third'), end));
    const fourth = turns.take(PATIENT, (ahead) => told.push(ahead)).then((end) => (begun.push('fourth'), end));

    ends[0]!();
    (await third)();
    await fourth;

    expect(begun).toEqual(['third', 'fourth']);
    expect(told).toEqual([2, 1]);
  });

  it('pass over a caller that was stopped', async () => {
    const turns = createBatchTurns(1);
    const end = await turns.take(PATIENT, () => undefined);
    const stop = new AbortController();
    const stopped = turns.take(stop.signal, () => undefined).catch(() => 'stopped');
    const next = turns.take(PATIENT, () => undefined);
    stop.abort();
    end();

    expect(await stopped).toBe('stopped');
    (await next)();
    (await turns.take(PATIENT, () => undefined))();
  });
});
