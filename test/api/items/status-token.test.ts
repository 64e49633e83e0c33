import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createStatusTokens } from '../../../src/api/items/status-token.js';

const SECRET = 'a secret of the tests, long enough for HS256';
const PURPOSE = 'read the status of one item';
const tokens = createStatusTokens(SECRET, PURPOSE);
const id = fc.uuid();

describe('the token of a status link', () => {
  it('leads to its item and to no other, in 64 signs that may stand in a path', () => {
    fc.assert(
      fc.property(id, (itemId) => {
        const token = tokens.tokenOf(itemId);
        expect(token).toMatch(/^[\w-]{64}$/);
        expect(tokens.itemIn(token)).toBe(itemId);
      }),
    );
  });

  it('is worth nothing once a single sign is changed', () => {
    const sign = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. é\0');
    fc.assert(
      fc.property(id, fc.nat(63), sign, (itemId, at, other) => {
        const token = tokens.tokenOf(itemId);
        fc.pre(token[at] !== other);
        expect(tokens.itemIn(`${token.slice(0, at)}${other}${token.slice(at + 1)}`)).toBeNull();
      }),
      { numRuns: 2_000 },
    );
  });

  it('is worth nothing cut short, made longer or put together from two', () => {
    fc.assert(
      fc.property(id, id, fc.nat(63), fc.string({ minLength: 1 }), (one, other, at, more) => {
        const [token, second] = [tokens.tokenOf(one), tokens.tokenOf(other)];
        expect(tokens.itemIn(token.slice(0, at))).toBeNull();
        expect(tokens.itemIn(token + more)).toBeNull();
        expect(tokens.itemIn(more + token)).toBeNull();
        const mixed = token.slice(0, at) + second.slice(at);
        if (mixed !== token && mixed !== second) expect(tokens.itemIn(mixed)).toBeNull();
      }),
    );
  });

  it('is not to be guessed: any text, and what another secret signed, is nobody’s', () => {
    const others = createStatusTokens(`${SECRET}!`, PURPOSE);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String({ maxLength: 200 })), id, (text, itemId) => {
        expect(tokens.itemIn(text)).toBeNull();
        expect(tokens.itemIn(others.tokenOf(itemId))).toBeNull();
      }),
    );
  });

  it('is of the id alone: the same at any time, and of nothing that is no id', () => {
    const itemId = '01934f6c-0000-7000-8000-000000000001';
    expect(createStatusTokens(SECRET, PURPOSE).tokenOf(itemId)).toBe(tokens.tokenOf(itemId));
    expect(() => tokens.tokenOf('not-an-id')).toThrow(RangeError);
  });
});
