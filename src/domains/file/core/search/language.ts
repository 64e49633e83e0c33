import { detect } from 'tinyld';

/** A page or two tells the language, and more text costs time alone. */
const SAMPLE_CHARACTERS = 4_000;

/** The language of fewer letters is a guess, and a wrong guess makes wrong stems. */
const LEAST_LETTERS = 24;

/** The languages whose words Postgres 15 can reduce to their stems, by the code of ISO 639-1. */
const STEMMERS: Readonly<Record<string, string>> = {
  ar: 'arabic',
  hy: 'armenian',
  eu: 'basque',
  ca: 'catalan',
  da: 'danish',
  nl: 'dutch',
  en: 'english',
  fi: 'finnish',
  fr: 'french',
  de: 'german',
  el: 'greek',
  hi: 'hindi',
  hu: 'hungarian',
  id: 'indonesian',
  ga: 'irish',
  it: 'italian',
  lt: 'lithuanian',
  ne: 'nepali',
  no: 'norwegian',
  pt: 'portuguese',
  ro: 'romanian',
  ru: 'russian',
  sr: 'serbian',
  es: 'spanish',
  sv: 'swedish',
  ta: 'tamil',
  tr: 'turkish',
  yi: 'yiddish',
};

/** The code of ISO 639-1. Null: the text does not tell. */
export function detectLanguage(text: string): string | null {
  const sample = text.slice(0, SAMPLE_CHARACTERS);
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  // A sign of the languages below stands for a syllable or a word.
  const isDense = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}/u.test(sample);
  if (letters < (isDense ? LEAST_LETTERS / 4 : LEAST_LETTERS)) return null;
  return detect(sample) || null;
}

/** The name that Postgres has for the stems of a language. Null: it has none, so words are found as they are written. */
export function stemmerOf(language: string | null): string | null {
  return (language !== null && STEMMERS[language]) || null;
}
