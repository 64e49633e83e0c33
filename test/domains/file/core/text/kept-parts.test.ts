import { describe, expect, it } from 'vitest';
import { keepParts } from '../../../../../src/domains/file/core/text/kept-parts.js';

describe('the text that is kept', () => {
  it('is well-formed, in the title and the header too', () => {
    const { parts } = keepParts([{ kind: 'table', title: ' a\ud800\n b\0 ', header: 'h\udc00', text: 'x\x07y\n\tz' }]);
    expect(parts).toEqual([{ kind: 'table', title: 'a\ufffd b\ufffd', header: 'h\ufffd', text: 'xy\n\tz' }]);
  });

  it('has no parts without text', () => {
    const parts = [
      { kind: 'text', text: ' \n' },
      { kind: 'table', header: 'only', text: '' },
    ] as const;
    expect(keepParts(parts)).toEqual({ parts: [parts[1]], isTruncated: false });
  });

  it('ends within the part that exceeds the bound, and not within a surrogate pair', () => {
    const parts = [
      { kind: 'text', text: 'abc' },
      { kind: 'text', text: 'de😀f' },
      { kind: 'text', text: 'never' },
    ] as const;
    expect(keepParts(parts, 6)).toEqual({ parts: [parts[0], { kind: 'text', text: 'de' }], isTruncated: true });
    expect(keepParts(parts, 7)).toEqual({ parts: [parts[0], { kind: 'text', text: 'de😀' }], isTruncated: true });
    expect(keepParts(parts.slice(0, 2), 8).isTruncated).toBe(false);
  });
});
