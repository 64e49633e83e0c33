import { describe, expect, it } from 'vitest';
import { createPatientReads, runReading } from '../../src/activities/patient-reads.js';
import { retryPatiently } from '../../src/activities/patience.js';

const away = (): Error => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

/** Fails so often, then answers. */
function failing(times: number, error: () => Error = away) {
  let calls = 0;
  async function call(): Promise<string> {
    calls += 1;
    if (calls <= times) throw error();
    return 'answer';
  }
  return { call, calls: () => calls };
}

function* endless(): Generator<number> {
  for (;;) yield 1;
}

describe('a patient call', () => {
  it('is repeated while the database is away', async () => {
    const { call, calls } = failing(3);

    await expect(retryPatiently(call, [1, 1, 1])).resolves.toBe('answer');
    expect(calls()).toBe(4);
  });

  it('fails with the last error when its waits are used up', async () => {
    const { call, calls } = failing(10);

    await expect(retryPatiently(call, [1, 1])).rejects.toThrow('ECONNREFUSED');
    expect(calls()).toBe(3);
  });

  it('is not repeated where the call itself is at fault', async () => {
    const { call, calls } = failing(1, () => Object.assign(new Error('duplicate key'), { code: '23505' }));

    await expect(retryPatiently(call, [1, 1])).rejects.toThrow('duplicate key');
    expect(calls()).toBe(1);
  });

  it('is repeated without end until it is told to give up', async () => {
    const { call, calls } = failing(Infinity);
    const giveUp = new AbortController();
    const answer = retryPatiently(
      async () => {
        if (calls() === 20) giveUp.abort();
        return call();
      },
      endless(),
      giveUp,
    );

    await expect(answer).rejects.toThrow('ECONNREFUSED');
    expect(calls()).toBe(21);
  });

  it('is not kept by a long wait when it is told to give up', async () => {
    const { call } = failing(Infinity);
    const giveUp = new AbortController();
    const answer = retryPatiently(call, [600_000], giveUp);
    giveUp.abort();

    await expect(answer).rejects.toThrow('ECONNREFUSED');
  });

  it('reads for a stage until the database is back', async () => {
    const { call, calls } = failing(2);
    const reads = createPatientReads({ query: async () => ({ rows: [await call()], rowCount: 1 }) as never });

    await expect(reads.query('SELECT 1')).resolves.toMatchObject({ rows: ['answer'] });
    expect(calls()).toBe(3);
  });

  it('reads no longer for a stage whose time is up', async () => {
    const { call } = failing(Infinity);
    const over = new AbortController();
    const reading = { signal: over.signal, pending: 0 };
    const reads = createPatientReads({ query: async () => ({ rows: [await call()], rowCount: 1 }) as never });
    const read = runReading(reading, () => reads.query('SELECT 1'));
    expect(reading.pending).toBe(1);
    over.abort();

    await expect(read).rejects.toThrow('ECONNREFUSED');
    expect(reading.pending).toBe(0);
  });
});
