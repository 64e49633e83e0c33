/** Scripts that set no spaces between words. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;

/** Letters that no decomposition makes plain. */
const PLAIN: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', Æ: 'AE', œ: 'oe', Œ: 'OE', ø: 'o', Ø: 'O', ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ı: 'i' },
  ...{ ð: 'd', Ð: 'D', þ: 'th', Þ: 'Th' },
};

const segmenter = new Intl.Segmenter('ja', { granularity: 'word' });

/** Text and query as the full-text search takes them: with spaces between words in every script, and one form for each sign. */
export function spaceWords(text: string): string {
  return text.normalize('NFKC').replace(UNSPACED, (run) => ` ${wordsIn(run).join(' ')} `);
}

/** The same without accents, so that a word is found however carefully it is typed. Marks of other scripts change the meaning of a
 *  sign, so they stay. */
export function foldAccents(text: string): string {
  return text
    .normalize('NFD')
    .replace(/([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])\p{M}+/gu, '$1')
    .normalize('NFC')
    .replace(/[ßæÆœŒøØłŁđĐıðÐþÞ]/g, (letter) => PLAIN[letter] ?? letter);
}

/** The words of a query, each once, without accents and in small letters. */
export function wordsIn(text: string): string[] {
  return [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment);
}

/** Nobody leaves out more words than this. Postgres refuses a query with more than some thirty of them in a row. */
const MAX_MINUSES = 20;

/** The text without minuses that leave out no word, such as those of a rule of dashes: Postgres takes each for an operator. */
export function tameMinuses(text: string): string {
  const tamed = text.replace(/-(?![\p{L}\p{N}"])/gu, ' ');
  const minuses = tamed.match(/(?<![\p{L}\p{N}])-/gu)?.length ?? 0;
  return minuses > MAX_MINUSES ? tamed.replace(/(?<![\p{L}\p{N}])-/gu, ' ') : tamed;
}
