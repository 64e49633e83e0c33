import { describe, expect, it } from 'vitest';
import { entriesOf } from '../../../../../src/domains/submission/adapters/git/git-objects.js';
import { isRetryable } from '../../../../../src/core/errors.js';

const ID = Buffer.alloc(20, 0xab);

function treeOf(...rows: [string, string | Buffer][]): Buffer {
  return Buffer.concat(
    rows.flatMap(([mode, name]) => [Buffer.from(`${mode} `), Buffer.from(name as string), Buffer.from([0]), ID]),
  );
}

describe('a tree object', () => {
  it('lists the entries of its folder', () => {
    const entries = entriesOf(
      treeOf(['100755', 'run me'], ['40000', 'docs'], ['120000', 'link'], ['160000', 'module']),
    );

    expect(entries.map(({ kind, name, isExecutable }) => [kind, name, isExecutable])).toEqual([
      ['file', 'run me', true],
      ['folder', 'docs', false],
      ['symlink', 'link', false],
      ['submodule', 'module', false],
    ]);
    expect(entries.every(({ id, isPlain }) => id === 'ab'.repeat(20) && isPlain)).toBe(true);
  });

  it('may be empty', () => {
    expect(entriesOf(Buffer.alloc(0))).toEqual([]);
  });

  it.each(['', '.', '..', '.git', '.Git', 'a/b', 'a\\b', 'a\tb', 'a\u0085b', 'a\u200bb', Buffer.from([0xc0, 0xaf])])(
    'has no plain name in %j',
    (name) => {
      expect(entriesOf(treeOf(['100644', name]))[0]?.isPlain).toBe(false);
    },
  );

  it('is refused wherever it is cut off', () => {
    const whole = treeOf(['100644', 'a'], ['100644', 'b']);
    const half = whole.length / 2;
    for (let length = 1; length < whole.length; length += 1) {
      if (length === half) continue;
      const failure = failureOf(() => entriesOf(whole.subarray(0, length)));
      expect(failure).toMatchObject({ code: 'bad_input' });
      expect(isRetryable(failure)).toBe(false);
    }
  });
});

function failureOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
