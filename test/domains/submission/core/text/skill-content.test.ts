import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentParts } from '../../../../../src/domains/submission/core/text/skill-content.js';

interface File {
  path: string;
  bytes: Uint8Array;
  isExecutable: boolean;
}

function bytesOf(files: readonly File[]): string {
  return Buffer.concat([...contentParts(files)]).toString('hex');
}

function file(path: string, text: string, isExecutable = false): File {
  return { path, bytes: Buffer.from(text), isExecutable };
}

/** Few different letters, with zero bytes and line ends, so that nearly equal sets are generated. */
function files(): fc.Arbitrary<File[]> {
  const path = fc.string({ unit: fc.constantFrom('a', 'b', '/', '\0', 'ä', '\ud83d\ude00'), maxLength: 3 });
  const bytes = fc
    .array(fc.constantFrom(0, 0x61, 0x0a, 0x0d, 0x01, 0xff), { maxLength: 5 })
    .map((values) => Uint8Array.from(values));
  const one = fc.record({ path, bytes, isExecutable: fc.boolean() });
  return fc.uniqueArray(one, { selector: (each) => each.path, maxLength: 4 });
}

/** The facts that should make contents different, in a form that can't be ambiguous. */
function meaningOf(all: readonly File[]): string {
  const rows = all.map(({ path, bytes, isExecutable }) => {
    const text = Buffer.from(bytes).toString('latin1');
    return JSON.stringify([path, text.includes('\0') ? text : text.replaceAll('\r\n', '\n'), isExecutable]);
  });
  return rows.toSorted().join();
}

describe('the bytes of a content hash', () => {
  it('are the same for the same content and differ for any other', () => {
    fc.assert(
      fc.property(files(), files(), (one, other) => {
        expect(bytesOf(one) === bytesOf(other)).toBe(meaningOf(one) === meaningOf(other));
      }),
      { numRuns: 5_000 },
    );
  });

  it('differ after the smallest change', () => {
    fc.assert(
      fc.property(files(), fc.nat(), fc.constantFrom('drop', 'flip', 'rename', 'grow'), (all, pick, how) => {
        fc.pre(all.length > 0);
        const at = pick % all.length;
        const changed = all.flatMap((each, index) => (index === at ? change(each, how) : [each]));
        fc.pre(new Set(changed.map(({ path }) => path)).size === changed.length);
        expect(bytesOf(changed)).not.toBe(bytesOf(all));
      }),
      { numRuns: 2_000 },
    );
  });

  it('do not depend on the order of the files', () => {
    fc.assert(
      fc.property(files(), (all) => {
        expect(bytesOf(all.toReversed())).toBe(bytesOf(all));
      }),
    );
  });

  it('have unified line ends in text files, and only there', () => {
    expect(bytesOf([file('a', 'x\r\ny\r\n')])).toBe(bytesOf([file('a', 'x\ny\n')]));
    expect(bytesOf([file('a', 'x\ry')])).not.toBe(bytesOf([file('a', 'x\ny')]));
    expect(bytesOf([file('a', '\0\r\n')])).not.toBe(bytesOf([file('a', '\0\n')]));
  });

  it('keep a name apart from the content that follows', () => {
    expect(bytesOf([file('ab', 'c')])).not.toBe(bytesOf([file('a', 'bc')]));
    expect(bytesOf([file('a', 'b'), file('c', 'd')])).not.toBe(bytesOf([file('a', 'bcd')]));
  });

  it('never change for a given content, because hashes are stored', () => {
    const hash = createHash('sha256');
    for (const part of contentParts([file('SKILL.md', 'a\r\n'), file('run.sh', 'b', true)])) hash.update(part);

    expect(hash.digest('hex')).toBe('12338fcca90768dfdc67d9116d5124734c3277a7904af7d8183e918c9b2d5da5');
  });
});

function change(given: File, how: 'drop' | 'flip' | 'rename' | 'grow'): File[] {
  switch (how) {
    case 'drop':
      return [];
    case 'flip':
      return [{ ...given, isExecutable: !given.isExecutable }];
    case 'rename':
      return [{ ...given, path: `${given.path}b` }];
    case 'grow':
      return [{ ...given, bytes: Uint8Array.from([...given.bytes, 0x61]) }];
  }
}
