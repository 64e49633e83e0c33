import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { badgeOf, svgOf } from '../../../../../src/domains/submission/core/version/badge.js';

/** The elements in order, if the picture consists only of whole tags with quoted attributes and escaped text. */
function elementsOf(svg: string): string[] {
  const text = `(?:[^<>&"'\\p{Cc}\\p{Cs}\\ufffe\\uffff]|&(?:amp|lt|gt|quot|#39);)*`;
  const tag = `<(/?\\w+)(?: [\\w-]+="${text}")*/?>`;
  const whole = new RegExp(`^(?:${tag}${text})+$`, 'u');
  expect(svg).toMatch(whole);
  return [...svg.matchAll(new RegExp(tag, 'gu'))].map(([, name]) => name ?? '');
}

const ELEMENTS = ['svg', 'title', '/title', 'rect', 'rect', 'g', 'text', '/text', 'text', '/text', '/g', '/svg'];

describe('a badge', () => {
  it.each([
    ['vendor', 'v1.2.0 · vendor'],
    ['tier2', 'v1.2.0 · tier 2'],
    ['tier3', 'v1.2.0 · tier 3'],
  ])('says version and certification: %s', (tier, message) => {
    const badge = badgeOf({ name: 'tidy', version: '1.2.0', tier });
    expect(badge.message).toBe(message);
    expect(svgOf(badge)).toContain(`>${message}</text>`);
    expect(svgOf(badge)).toContain('aria-label="tidy 1.2.0, certification: ');
  });

  it('says of a skill that nobody published that it is unknown', () => {
    expect(svgOf(badgeOf(null))).toContain('>unknown</text>');
  });

  it('stays a picture with the same elements, whatever its text is', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom('"><script>alert(1)</script>', ']]>&nbsp;<!--', "' onload='x", '\ud800\0\ufffe\u202e'),
    );
    fc.assert(
      fc.property(text, text, text, (name, version, tier) => {
        const svg = svgOf(badgeOf({ name, version, tier }));
        expect(elementsOf(svg)).toEqual(ELEMENTS);
        expect(svg.length).toBeLessThan(3_000);
      }),
      { numRuns: 500 },
    );
  });
});
