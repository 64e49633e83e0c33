import { foldAccents, spaceWords, wordsIn } from './search-text.js';

/** Enough to judge a passage, and short enough for a list of fifty. */
const EXCERPT_CHARACTERS = 600;

/** How much stands before the first word that was found. */
const LEAD_CHARACTERS = 120;

/** Forms of a word share at least so many letters at its beginning, as a rule. */
const STEM_LETTERS = 5;

/** The part of the text that begins a little before the first word of the query. An ellipsis stands where text is left out. */
export function excerptOf(text: string, query: string): string {
  if (text.length <= EXCERPT_CHARACTERS) return text;
  const first = firstMatchIn(text, query);
  const last = text.length - EXCERPT_CHARACTERS;
  const from = wordStart(text, Math.min(Math.max(0, first - LEAD_CHARACTERS), last));
  const to = wordStart(text, Math.min(text.length, from + EXCERPT_CHARACTERS));
  return `${from > 0 ? '…' : ''}${text.slice(from, to).trim()}${to < text.length ? '…' : ''}`;
}

function firstMatchIn(text: string, query: string): number {
  const stems = wordsIn(spaceWords(query))
    .map((word) => foldAccents(word).toLowerCase().slice(0, STEM_LETTERS))
    // A short word is a common one, or found anywhere in scripts without spaces.
    .filter((stem) => stem.length >= 4 || /[^\p{Script=Latin}]/u.test(stem));
  const segments = new Intl.Segmenter('ja', { granularity: 'word' }).segment(text);
  for (const { segment, index, isWordLike } of segments) {
    if (!isWordLike) continue;
    const word = foldAccents(segment).toLowerCase();
    if (stems.some((stem) => word.startsWith(stem))) return index;
  }
  return 0;
}

/** The place, or the one behind the next space if that is near, so that no word and no pair of surrogates is cut in two. */
function wordStart(text: string, place: number): number {
  if (place === 0 || place === text.length) return place;
  const space = text.slice(place, place + 40).search(/\s/u);
  if (space >= 0) return place + space + 1;
  return /[\uDC00-\uDFFF]/.test(text[place] ?? '') ? place + 1 : place;
}
