import { afterAll, describe, expect, it } from 'vitest';
import { createLocalEmbedder } from '../../src/adapters/embedder-local.js';
import { isAppError } from '../../src/core/errors.js';
import { dotOf, embedderContract, UNHURRIED } from '../ports/embedder-contract.js';

embedderContract('the local embedder', async () => createLocalEmbedder());

describe('the local embedder', () => {
  const embedder = createLocalEmbedder();
  afterAll(() => embedder.close());

  it('puts a sentence nearer to its paraphrase than to another subject', async () => {
    const [cat, feline, rates] = await embedder.embed(
      ['The cat sat on the mat.', 'A feline rested on the rug.', 'The central bank raised interest rates.'],
      UNHURRIED,
    );

    expect(dotOf(cat, feline)).toBeGreaterThan(0.6);
    expect(dotOf(cat, rates)).toBeLessThan(0.3);
  });

  it('leaves the event loop of its process free while it works', async () => {
    const text = 'The committee discussed the budget of the libraries at length. '.repeat(40);
    const working = embedder.embed([text, text, text, text], UNHURRIED);
    const began = performance.now();
    let latest = began;
    let longest = 0;
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - latest);
      latest = performance.now();
    }, 1);
    await working;
    clearInterval(timer);

    // On the loop itself each text would be a pause of a quarter of the time, and all of them without a break a pause of all of it.
    expect(longest).toBeLessThan((performance.now() - began) / 4);
  });

  it('drops a request that is stopped, and answers the next', async () => {
    const stop = new AbortController();
    const long = embedder.embed(Array<string>(500).fill('a sentence among many '.repeat(20)), stop.signal);
    const next = embedder.embed(['next'], UNHURRIED);
    stop.abort();

    const failure: unknown = await long.catch((error: unknown) => error);
    expect(isAppError(failure) && failure.code).toBe('model_unavailable');
    expect(await next).toHaveLength(1);
  });

  it('leaves out the end of a long text', async () => {
    const start = 'The history of the harbour, its ships and its sailors. '.repeat(200);
    const [one, other] = await embedder.embed([start, `${start}Recipes for vegetable soup.`], UNHURRIED);

    expect(dotOf(one, other)).toBeCloseTo(1, 6);
  });

  it('starts anew after it has been idle', async () => {
    const brief = createLocalEmbedder({ idleMs: 1 });
    await brief.embed(['once'], UNHURRIED);
    // Its thread ends at once, with this request or before it.
    const again = await brief.embed(['once more'], UNHURRIED);
    await brief.close();

    expect(again).toHaveLength(1);
  });
});
