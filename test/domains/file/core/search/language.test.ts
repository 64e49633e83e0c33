import { describe, expect, it } from 'vitest';
import { detectLanguage, stemmerOf } from '../../../../../src/domains/file/core/search/language.js';

describe('the language of a text', () => {
  it.each([
    ['The library opens at nine in the morning.', 'en', 'english'],
    ['Die Bibliothek öffnet um neun Uhr und schließt am Abend.', 'de', 'german'],
    ['Библиотека открывается в девять часов утра.', 'ru', 'russian'],
    ['図書館は朝九時に開館します。', 'ja', null],
    ['too short', null, null],
    ['12.5 – 14.8 | 2024-08-15 | 1,000,000.00', null, null],
  ])('of %j is %s, whose stems are %s', (text, language, stemmer) => {
    expect(detectLanguage(text)).toBe(language);
    expect(stemmerOf(language)).toBe(stemmer);
  });
});
