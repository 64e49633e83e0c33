import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Parameters, storableJson, storableText } from '../../../src/db/postgres/parameters.js';
import { useSpine } from '../../support/spine.js';

const spine = useSpine();

describe('the parts of a statement', () => {
  it('keep their values apart', () => {
    const p = new Parameters();
    const first = p.add('a');
    const embedded = p.embed({ text: 'SELECT $2, $1, $10', values: ['b', 'c'] });

    expect(first).toBe('$1');
    expect(embedded).toBe('SELECT $3, $2, $11');
    expect(p.add('d')).toBe('$4');
    expect(p.values).toEqual(['a', 'b', 'c', 'd']);
  });
});

/** Any sequence of 16-bit units, so also halves of surrogate pairs and NUL. */
const anyText = fc.string({ unit: fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 20 });
const nastyText = fc.string({
  unit: fc.constantFrom('\0', '\\', 'u', '0', '\ud83d', '\ude00', '"', 'd', '8'),
  maxLength: 12,
});

describe('text that is made storable', () => {
  it('is stored by the database, whatever it contained', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyText, nastyText), async (text) => {
        const { rows } = await spine.pool.query<{ text: string; json: unknown }>(
          'SELECT $1::text AS text, $2::jsonb AS json',
          [storableText(text), storableJson({ [text]: [text] })],
        );
        const clean = storableText(text);
        expect(rows[0]).toEqual({ text: clean, json: { [clean]: [clean] } });
      }),
      { numRuns: 150 },
    );
  });

  it('is left unchanged if there is nothing to replace', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (text) => {
        fc.pre(!text.includes('\0'));
        expect(storableText(text)).toBe(text);
        expect(JSON.parse(storableJson({ text }))).toEqual({ text });
      }),
    );
  });
});
