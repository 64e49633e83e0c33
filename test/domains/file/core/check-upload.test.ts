import { describe, expect, it } from 'vitest';
import { faultOfName, faultsOfFiles } from '../../../../src/domains/file/core/check-upload.js';
import { takenType, typeByName } from '../../../../src/domains/file/core/upload-types.js';

const LIMITS = { maxBytes: 100, maxImageBytes: 30 };
const FILE = { clientId: 'a', name: 'a.txt', mimeType: 'text/plain', sizeBytes: 1 };

describe('the name of a file', () => {
  it.each(['a.txt', 'Bericht 2026 – Entwurf.docx', '日本語.pdf', '.gitignore', '...', 'a'.repeat(255)])(
    'may be %s',
    (name) => {
      expect(faultOfName(name)).toBeNull();
    },
  );

  it.each([
    '',
    ' ',
    '.',
    '..',
    'a/b',
    'a\\b',
    '/etc/passwd',
    'a\0',
    'a\n',
    '\u007f',
    '\u0085',
    '\ud800',
    'a\u2066b',
    'a'.repeat(256),
  ])('may not be %j', (name) => {
    expect(faultOfName(name)).not.toBeNull();
  });
});

describe('the type of a file', () => {
  it.each([
    ['a.txt', 'Text/Plain; charset=utf-8', 'text/plain'],
    ['a.py', 'text/x-python', 'text/x-python'],
    ['a.docx', 'application/octet-stream', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['a.ts', 'application/octet-stream', 'text/plain'],
    ['Makefile', 'application/octet-stream', 'text/plain'],
    ['A.JPEG', 'application/octet-stream', 'image/jpeg'],
  ])('of %s as %s is taken as %s', (name, mimeType, taken) => {
    expect(takenType(name, mimeType)).toBe(taken);
  });

  it.each([
    ['a.zip', 'application/zip'],
    ['a.exe', 'application/octet-stream'],
    ['constructor', 'application/octet-stream'],
    ['a.txt', ''],
    ['a.txt', 'text/'],
    ['a.svg', 'image/svg+xml'],
    ['a.mp4', 'video/mp4'],
  ])('of %s as %s is not taken', (name, mimeType) => {
    expect(takenType(name, mimeType)).toBeNull();
  });

  it('is found for every ending that the command sends', () => {
    expect(typeByName('notes.tar.md')).toBe('text/markdown');
    expect(typeByName('noending')).toBeNull();
  });
});

describe('the limits', () => {
  it.each([
    [{ sizeBytes: 100 }, []],
    [{ sizeBytes: 101 }, ['files.0.sizeBytes']],
    [{ mimeType: 'image/png', sizeBytes: 30 }, []],
    [{ mimeType: 'image/png', sizeBytes: 31 }, ['files.0.sizeBytes']],
    [{ mimeType: 'application/octet-stream', name: 'a.png', sizeBytes: 31 }, ['files.0.sizeBytes']],
    [{ sha256: 'F'.repeat(64) }, []],
    [{ sha256: 'g'.repeat(64) }, ['files.0.sha256']],
  ])('of %j', (changes, paths) => {
    expect(faultsOfFiles([{ ...FILE, ...changes }], LIMITS).map(({ path }) => path)).toEqual(paths);
  });
});
