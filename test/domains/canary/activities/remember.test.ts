import { expect, it } from 'vitest';
import { remember } from '../../../../src/domains/canary/activities/remember.js';

function counting() {
  const asked: string[] = [];
  const find = (id: string): Promise<string> => {
    asked.push(id);
    return Promise.resolve(`settings of ${id}`);
  };
  return { asked, find: remember(find) };
}

it('reads the settings of a canary once', async () => {
  const { asked, find } = counting();
  expect(await find('a')).toBe('settings of a');
  expect(await find('a')).toBe('settings of a');
  expect(asked).toEqual(['a']);
});

it('keeps the settings of the last thousand canaries only', async () => {
  const { asked, find } = counting();
  for (let n = 0; n < 1_001; n += 1) await find(String(n));
  await find('1000');
  await find('0');
  expect(asked).toHaveLength(1_002);
});

it('reads settings again after a read that failed', async () => {
  let fails = true;
  const find = remember(() => (fails ? Promise.reject(new Error('away')) : Promise.resolve('there')));
  await expect(find('a')).rejects.toThrow('away');
  fails = false;
  expect(await find('a')).toBe('there');
});
