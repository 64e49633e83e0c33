import { describe, expect, it } from 'vitest';
import { assertBlobKey, assertBlobPrefix, isBlobKey } from '../../src/core/blob-key.js';

const ID = '0190c0de-0000-7000-8000-000000000000';

describe('the key of a blob', () => {
  it('is a use, an owner and an id', () => {
    for (const key of [`scans/${'0f'.repeat(16)}/${ID}`, 'a/b/c', `a/b/${'c'.repeat(64)}`]) {
      expect(isBlobKey(key), key).toBe(true);
      expect(() => assertBlobKey(key)).not.toThrow();
    }
  });

  it.each(['', 'a/b', 'a/b/c/d', '../b/c', 'a/../c', 'a/b/..', 'a/b/c\n', 'A/b/c', 'a-b/b/c', 'a/b-c/d', 'a/b/-c'])(
    'is never %j',
    (key) => {
      expect(isBlobKey(key)).toBe(false);
      expect(() => assertBlobKey(key)).toThrow('is not the key of a blob');
    },
  );

  it('sorts as its parts do, so that folders can be walked in the order of keys', () => {
    const keys = ['a/b/c', 'a/b/c-d', 'a/b/c0', 'a/b0/a', 'a0/a/a'];
    expect(keys.toSorted()).toEqual(keys);
    expect(
      keys
        .map((key) => key.split('/'))
        .toSorted(byParts)
        .map((parts) => parts.join('/')),
    ).toEqual(keys);
  });

  it('has a beginning for each of its lengths', () => {
    const key = `scans/${'0f'.repeat(16)}/${ID}`;
    for (let end = 0; end <= key.length; end += 1) expect(() => assertBlobPrefix(key.slice(0, end))).not.toThrow();
    for (const prefix of ['/', '..', 'a//', 'a/b/c/', 'A', 'a-']) {
      expect(() => assertBlobPrefix(prefix), prefix).toThrow('no key of a blob begins with');
    }
  });
});

function byParts(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((part, index) => part !== other[index]);
  return (one[at] ?? '') < (other[at] ?? '') ? -1 : 1;
}
