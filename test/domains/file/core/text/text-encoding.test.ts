import { describe, expect, it } from 'vitest';
import { decodeText } from '../../../../../src/domains/file/core/text/text-encoding.js';

const german = 'Ein „Käufer“ prüft – über 20 € – das Maß. ';
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** Each letter as one byte of an encoding. */
function encode(text: string, encoding: string): Uint8Array {
  const decoder = new TextDecoder(encoding);
  const table = new Map<string, number>();
  for (let byte = 0; byte < 256; byte += 1) table.set(decoder.decode(bytes(byte), { stream: true }), byte);
  return Uint8Array.from(text, (letter) => table.get(letter) ?? 0x3f);
}

/** The same text with the higher byte first. */
function swapped(text: string): Uint8Array {
  return Buffer.from(text, 'utf16le').swap16();
}

describe('the encoding of a text', () => {
  it.each([
    ['utf-8', Buffer.from(german)],
    ['utf-8', Buffer.from(`\ufeff${german}`)],
    ['utf-16le', Buffer.from(`\ufeff${german}`, 'utf16le')],
    ['utf-16be', swapped(`\ufeff${german}`)],
    ['utf-16le', Buffer.from(german, 'utf16le')],
    ['utf-16be', swapped(german)],
    ['windows-1252', encode(german, 'windows-1252')],
  ])('is found: %s', (encoding, encoded) => {
    expect(decodeText(encoded)).toEqual({ encoding, text: german });
  });

  it.each([
    ['windows-1251', 'Быстрая коричневая лиса прыгает через ленивую собаку. '],
    ['koi8-r', 'Быстрая коричневая лиса прыгает через ленивую собаку. '],
    ['ibm866', 'Быстрая коричневая лиса прыгает через ленивую собаку. '],
  ])('is found by the letters that a language uses most: %s', (encoding, text) => {
    expect(decodeText(encode(text, encoding))).toEqual({ encoding, text });
  });

  it('is found for pairs of bytes: Shift_JIS', () => {
    const encoded = bytes(
      0x82,
      0xb1,
      0x82,
      0xea,
      0x82,
      0xcd,
      0x93,
      0xfa,
      0x96,
      0x7b,
      0x8c,
      0xea,
      0x82,
      0xc5,
      0x82,
      0xb7,
    );
    expect(decodeText(encoded)?.text).toBe('これは日本語です');
  });

  it('is the declared encoding of a page or of XML', () => {
    const text = '<html><meta charset="iso-8859-2"><p>Zażółć</p>';
    expect(decodeText(encode(text, 'iso-8859-2'))).toEqual({ encoding: 'iso-8859-2', text });
    const xml = '<?xml version="1.0" encoding="windows-1250"?><p>Zażółć</p>';
    expect(decodeText(encode(xml, 'windows-1250'))).toEqual({ encoding: 'windows-1250', text: xml });
  });

  it('is UTF-8 where the bytes are, whatever the text declares', () => {
    const text = '<meta charset="windows-1251"><p>Käufer</p>';
    expect(decodeText(Buffer.from(text))).toEqual({ encoding: 'utf-8', text });
  });

  it('is UTF-8 where a cut left half of a character at the end', () => {
    const whole = Buffer.from('Käufer €');
    expect(decodeText(whole.subarray(0, -1))?.text).toBe('Käufer ');
  });

  it('is none where the bytes are noise', () => {
    expect(decodeText(Uint8Array.from({ length: 4_096 }, (_, at) => (at * at * 31) % 256))).toBeUndefined();
  });
});
