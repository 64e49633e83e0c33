import { describe, expect, it } from 'vitest';
import { readOptions, UsageError } from './command-options.js';

const DEFAULTS = { items: 300, only: '', shared: false };

describe('the options of a command', () => {
  it('are its defaults where nothing is given', () => {
    expect(readOptions([], DEFAULTS)).toEqual(DEFAULTS);
  });

  it('are what is given', () => {
    expect(readOptions(['--items', '20', '--only', 'storm', '--shared'], DEFAULTS)).toEqual({
      ...{ items: 20, only: 'storm', shared: true },
    });
  });

  it('ask for help', () => {
    expect(readOptions(['--help'], DEFAULTS)).toBe('help');
  });

  it.each([
    ['an unknown one', ['--bogus']],
    ['a number that is none', ['--items', 'many']],
    ['a number below none', ['--items=-1']],
    ['a stray word', ['items']],
  ])('refuse %s', (_, args) => {
    expect(() => readOptions(args, DEFAULTS)).toThrow(UsageError);
  });
});
