import { describe, expect, it } from 'vitest';
import {
  foldAccents,
  spaceWords,
  tameMinuses,
  wordsIn,
} from '../../../../../src/domains/file/core/search/search-text.js';

describe('the text of the full-text search', () => {
  it('has spaces between words where the script has none', () => {
    expect(spaceWords('図書館は朝に開館').split(' ').filter(Boolean)).toEqual(['図書館', 'は', '朝', 'に', '開館']);
  });

  it('keeps the words of other scripts as they are', () => {
    expect(spaceWords('Ein Weg, zwei Wege: 5 km.')).toBe('Ein Weg, zwei Wege: 5 km.');
  });

  it('has one form for each sign', () => {
    expect(spaceWords('ﬁn ＡＢ１')).toBe('fin AB1');
  });

  it.each([
    ['Müller, garçon, Łódź', 'Muller, garcon, Lodz'],
    ['Straße', 'Strasse'],
    ['ёлка, й', 'елка, и'],
    ['ガギグ', 'ガギグ'],
    ['हिन्दी', 'हिन्दी'],
  ])('without accents: %s is %s', (text, folded) => {
    expect(foldAccents(text)).toBe(folded);
  });

  it('has words, and signs that are none', () => {
    expect(wordsIn('A red-hot (stove)!')).toEqual(['A', 'red', 'hot', 'stove']);
  });

  it('keeps minuses that leave out a word, and no others', () => {
    expect(tameMinuses('contract -parties -"two words" well-known')).toBe('contract -parties -"two words" well-known');
    expect(tameMinuses(`${'-'.repeat(40)} invoice`).trim()).toBe('invoice');
    expect(tameMinuses(`${'- '.repeat(40)}invoice`).trim()).toBe('invoice');
    expect(tameMinuses('-a '.repeat(40))).not.toContain('-');
  });
});
