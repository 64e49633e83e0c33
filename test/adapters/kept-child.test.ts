import { afterAll, describe, expect, it, vi } from 'vitest';
import { createKeptChild } from '../../src/adapters/kept-child.js';
import type { ChildFaults } from '../../src/adapters/killable-child.js';

// Each test starts a process or two, which takes seconds on a loaded machine.
vi.setConfig({ testTimeout: 120_000 });

const faults: ChildFaults = {
  gone: (how, isTooLarge) => new Error(`gone, ${how}${isTooLarge ? ', too large' : ''}`),
  timeUp: (timeoutMs) => new Error(`time up after ${timeoutMs}`),
  said: ({ code, message }) => new Error(`said ${code ?? 'no code'}: ${message}`),
};

const child = createKeptChild({
  script: new URL('./children/obedient-child', import.meta.url),
  maxBytes: 512 * 1_024 ** 2,
  faults,
});
afterAll(() => child.close());

const never = new AbortController().signal;

function ask(question: string, { timeoutMs = 60_000, heard = [] as unknown[] } = {}): Promise<unknown> {
  const onProgress = (value: unknown): void => void heard.push(value);
  return child.ask({ question, timeoutMs, signal: never, onProgress }, () => undefined);
}

async function pidNow(): Promise<number> {
  const { pid } = (await ask('who')) as { pid: number };
  return pid;
}

describe('a process that is kept', () => {
  it('answers, tells of its progress, and stays for the next question', async () => {
    const heard: unknown[] = [];
    const pid = await pidNow();

    await expect(ask('this', { heard })).resolves.toEqual({ pid, question: 'this' });
    expect(heard).toEqual(['begun']);
    expect(child.pid()).toBe(pid);
  });

  it('says that it cannot answer, and stays', async () => {
    const pid = await pidNow();
    await expect(ask('fail')).rejects.toThrow('said cannot: I cannot');
    expect(await pidNow()).toBe(pid);
  });

  it.each([
    ['it hangs', 'hang', 'time up after 500'],
    ['it dies', 'die', 'gone, ended with code 7'],
  ])('is replaced when %s', async (_, question, words) => {
    const pid = await pidNow();
    await expect(ask(question, { timeoutMs: question === 'hang' ? 500 : 60_000 })).rejects.toThrow(words);
    expect(await pidNow()).not.toBe(pid);
  });

  it('is replaced when it holds half of its memory after an answer, so that the next question is not blamed', async () => {
    const pid = await pidNow();
    await expect(ask('grow')).resolves.toMatchObject({ pid });
    await expect(ask('grow')).resolves.toMatchObject({ question: 'grow' });
    expect(await pidNow()).not.toBe(pid);
  });

  it('has no environment', async () => {
    await expect(ask('environment')).resolves.toEqual({});
  });

  it('answers the questions in turn, and tells how many are ahead', async () => {
    const heard: number[] = [];
    const first = ask('first');
    const second = child.ask({ question: 'second', timeoutMs: 60_000, signal: never }, (ahead) => heard.push(ahead));
    expect(child.load()).toBe(2);
    await Promise.all([first, second]);

    expect(heard).toEqual([1, 0]);
    expect(child.load()).toBe(0);
  });
});
