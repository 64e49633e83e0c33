import { describe, expect, it } from 'vitest';
import { textKindOf } from '../../../../../src/domains/file/core/text/text-kind.js';

describe('the kind of a text', () => {
  it.each([
    ['html', '<!-- a --><!DOCTYPE html><p>x', 'a.txt'],
    ['html', '<p>only a part</p>', 'part.html'],
    ['xml', '<?xml version="1.0"?><a/>', 'a.txt'],
    ['xml', '<svg/>', 'a.svg'],
    ['json', '{"a": 1}', 'a.txt'],
    ['json', '{"a": 1}\n{"a": 2}', 'a.json'],
    ['text', '{broken', 'a.txt'],
    ['csv', 'a,b,c\n1,2,3\n4,5,6\n7,8,9', 'a.txt'],
    ['csv', 'a\n1', 'a.csv'],
    ['text', 'Dear all,\nI came, I saw,\nand then, at last,\nI left.', 'a.txt'],
    ['markdown', '# Title\n\n- one\n- two', 'a.txt'],
    ['markdown', 'plain', 'README.md'],
    ['text', '# a comment\nkey value', 'a.txt'],
    ['code', '# Title\n\n- one\n- two', 'a.py'],
    ['code', '#!/bin/sh\nls', 'run'],
    ['code', 'a: 1', 'a.yaml'],
    ['text', 'plain', 'a.docx'],
  ])('is %s for %j named %s', (kind, text, name) => {
    expect(textKindOf(text, name)).toBe(kind);
  });

  it('is soon told of a text that begins with many comments', () => {
    const comments = Array.from({ length: 60 }, (_, n) => `<!-- comment ${n} -->`).join('\n');
    expect(textKindOf(`${comments}\n# Title\n\n- an entry\n`, 'a.md')).toBe('markdown');
    expect(textKindOf(`${comments}\n<html><body>text</body></html>`, 'a.txt')).toBe('html');
  });
});
