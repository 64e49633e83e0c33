import { describe, expect, it } from 'vitest';
import {
  firstPlace,
  linesOf,
  placeOf,
  plainOf,
  visibleOf,
} from '../../../../../src/domains/submission/core/text/plain-text.js';

describe('plain text', () => {
  it.each([
    ['plain   ASCII', 'plain ASCII'],
    ['ｗｉｄｅ', 'wide'],
    ['ﬁne', 'fine'],
    ['zero\u200bwidth\u00ad\u2060', 'zerowidth'],
    ['раураl', 'paypal'],
    ['ΑΒΕ', 'ABE'],
    ['a\t\u00a0b', 'a b'],
    ['seen\u{E0068}\u{E0069}', 'seen hi'],
    ['größe 漢字', 'größe 漢字'],
  ])('of %j is %j', (text, plain) => {
    expect(plainOf(text)).toBe(plain);
  });

  it.each([
    ['\u202e', '\\u{202e}'],
    ['\u{E0041}', '\\u{e0041}'],
    ['\u0007\u001b[0m', '\\u{7}\\u{1b}[0m'],
    ['\ud83d', '\\u{d83d}'],
    ['a\tb 🚨 ü', 'a b 🚨 ü'],
  ])('made visible, %j is %j', (text, visible) => {
    expect(visibleOf(text)).toBe(visible);
  });

  it('ends a line at every sequence that some program takes for a line end', () => {
    expect(linesOf('a\nb\r\nc\rd\ve\ff\u0085g\u2028h\u2029i')).toEqual([...'abcdefghi']);
  });

  it('is cut between characters where only a part is shown', () => {
    const { text } = placeOf('a', 0, `  ${'🚨'.repeat(300)}`);

    expect(text).toBe('🚨'.repeat(200));
  });

  it('is given with its file and line', () => {
    const file = { path: 'a.md', text: 'one\n  two\ntwo', isExecutable: false };

    expect(firstPlace(file, (line) => line.includes('two'))).toEqual({ file: 'a.md', line: 2, text: 'two' });
    expect(firstPlace(file, () => false)).toBeUndefined();
  });
});
