import { describe, expect, it } from 'vitest';
import { createFigureCache } from '../../../../src/domains/file/api/figure-cache.js';

function setUp(ttlMs = 1_000) {
  let now = 0;
  let loads = 0;
  const cache = createFigureCache<string>(ttlMs, () => now);
  const ask = (of: string | null, stamp = 'a', during: () => void = () => undefined) =>
    cache.find(of, {
      stamp: async () => stamp,
      async figures() {
        loads += 1;
        during();
        return `${of ?? 'all'} ${loads}`;
      },
    });
  return { cache, ask, pass: (ms: number) => (now += ms), loads: () => loads };
}

describe('figures that are kept', () => {
  it('are given to their owner until their time is up', async () => {
    const { ask, pass } = setUp();
    expect([await ask('ada'), await ask('ada')]).toEqual(['ada 1', 'ada 1']);
    pass(1_001);
    expect(await ask('ada')).toBe('ada 2');
  });

  it('are never given to another owner, nor to an owner whose name is a keyword', async () => {
    const { ask } = setUp();
    expect([await ask('ada'), await ask('bob'), await ask(null), await ask('all'), await ask('null')]).toEqual([
      ...['ada 1', 'bob 2', 'all 3', 'all 4', 'null 5'],
    ]);
    expect(await ask(null)).toBe('all 3');
  });

  it('are read anew when the owner’s rows have changed', async () => {
    const { ask } = setUp();
    await ask('ada', 'a');
    expect([await ask('ada', 'b'), await ask('ada', 'b')]).toEqual(['ada 2', 'ada 2']);
  });

  it('are forgotten by the owner’s own action, with those of all owners, and others stay', async () => {
    const { cache, ask } = setUp();
    await ask('ada');
    await ask('bob');
    await ask(null);
    cache.drop('ada');
    expect([await ask('ada'), await ask('bob'), await ask(null)]).toEqual(['ada 4', 'bob 2', 'all 5']);
  });

  it('are not kept when an action came while they were read', async () => {
    const { cache, ask } = setUp();
    await ask('ada', 'a', () => cache.drop('ada'));
    expect(await ask('ada')).toBe('ada 2');
  });

  it('are not kept at all without a time, and no more than a number of them', async () => {
    const off = setUp(0);
    await off.ask('ada');
    expect(await off.ask('ada')).toBe('ada 2');
    const { ask } = setUp();
    for (let n = 0; n <= 2_000; n += 1) await ask(`owner-${n}`);
    expect(await ask('owner-2000')).toBe('owner-2000 2001');
    expect(await ask('owner-0')).toBe('owner-0 2002');
  });
});
