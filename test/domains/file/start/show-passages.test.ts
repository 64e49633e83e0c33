import { describe, expect, it } from 'vitest';
import { searchOptionsOf } from '../../../../src/domains/file/start/search/search-options.js';
import { showPassages } from '../../../../src/domains/file/start/search/show-passages.js';

const PASSAGE = {
  fileId: '0195-a',
  fileName: 'metals.pdf',
  page: 7,
  title: 'Zinc',
  text: 'It melts\nat 420 degrees.\u001b[31m',
  foundBy: ['words', 'meaning'],
};

describe('npm run search', () => {
  it('prints each passage under its file, on one line and without control characters', () => {
    expect(showPassages({ passages: [PASSAGE], degraded: false, withoutVector: 0 })).toEqual([
      '1. metals.pdf (page 7, Zinc), by words and meaning, 0195-a',
      '   It melts at 420 degrees. [31m',
    ]);
  });

  it('says when nothing fits, and what the search could not do', () => {
    const lines = showPassages({ passages: [], degraded: true, withoutVector: 3 });

    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe('Nothing in your ready files fits.');
  });

  it('takes all words for one query', () => {
    expect(searchOptionsOf(['zinc', 'roof', '--limit', '3', '--url', 'http://127.0.0.1:3000/'])).toEqual({
      ...{ text: 'zinc roof', limit: '3', url: 'http://127.0.0.1:3000', token: undefined },
    });
  });

  it.each([[[]], [['--colour', 'red']], [['a', '--url', 'nowhere']]])(
    'refuses %j with the usage or the fault',
    (args) => {
      expect(() => searchOptionsOf(args)).toThrow(/^search: /);
    },
  );
});
