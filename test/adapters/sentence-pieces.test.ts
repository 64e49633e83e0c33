import { describe, expect, it } from 'vitest';
import { createSentencePieces, type Vocabulary } from '../../src/adapters/sentence-pieces.js';

const RESERVED: Vocabulary = ['�', '<s>', '</s>', 'x1', 'x2', 'x3'].map((sign) => [sign, 0]);
const VOCABULARY: Vocabulary = [...RESERVED, ['▁a', -1], ['b', -2], ['ab', -5], ['▁ab', -2.5], ['▁', -3], ['a', -3]];

describe('the pieces of a text', () => {
  const { encode } = createSentencePieces(VOCABULARY);

  it.each([
    ['ab', [9], 'one likely piece in place of two'],
    ['a b', [6, 10, 7], 'a space begins the next word'],
    ['  a\n\tb ', [6, 10, 7], 'any white space is one space'],
    ['aXYb', [6, 0, 7], 'unknown characters in a row are one piece'],
    ['ａ', [6], 'wide letters are letters'],
    ['', [], 'nothing has no piece'],
  ])('of %j are %j: %s', (text, expected) => {
    expect(encode(text)).toEqual(expected);
  });
});
