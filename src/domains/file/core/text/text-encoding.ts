/** A text and the encoding that it was read with. */
export interface DecodedText {
  text: string;
  encoding: string;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Bytes that are looked at to tell the encoding. An encoding shows early, and a look at 100 MB would take a second. */
const SAMPLE = 65_536;

/** The byte order mark comes first, then what the bytes can only be, then what the text declares, then the encoding that old Western
 *  texts have. Undefined: the bytes are no text. */
export function decodeText(bytes: Uint8Array): DecodedText | undefined {
  const marked = markOf(bytes);
  if (marked) return { text: decodeAs(marked, bytes), encoding: marked };
  const wide = wideEncodingOf(bytes.subarray(0, SAMPLE));
  if (wide) return checked({ text: decodeAs(wide, bytes), encoding: wide }, MAX_NOISE_IN_UTF8);
  const text = decodeUtf8(bytes);
  if (text !== undefined) return checked({ text, encoding: 'utf-8' }, MAX_NOISE_IN_UTF8);
  return checked(decodeOld(bytes), MAX_NOISE);
}

/** In pieces, because some versions of Node read windows-1252 as Latin-1 when they get a text whole. */
function decodeAs(encoding: string, bytes: Uint8Array): string {
  const decoder = new TextDecoder(encoding);
  return decoder.decode(bytes, { stream: true }) + decoder.decode();
}

function markOf(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return undefined;
}

/** Every second byte of most text in UTF-16 is zero, because it has Latin letters, digits, spaces and line ends. Text of another
 *  script has its spaces and line ends there alone, and the bytes at one side hardly vary. */
function wideEncodingOf(sample: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (sample.length < 4) return undefined;
  const pairs = Math.floor(sample.length / 2);
  let [low, high] = [0, 0];
  for (let at = 0; at + 1 < sample.length; at += 2) {
    if (sample[at] === 0) high += 1;
    if (sample[at + 1] === 0) low += 1;
  }
  if (low > pairs * 0.4 && high < pairs * 0.05) return 'utf-16le';
  if (high > pairs * 0.4 && low < pairs * 0.05) return 'utf-16be';
  return undefined;
}

/** Bytes may be cut within a character, at the end of what is kept. */
function decodeUtf8(bytes: Uint8Array): string | undefined {
  for (let cut = 0; cut < 4; cut += 1) {
    try {
      return utf8.decode(bytes.subarray(0, bytes.length - cut));
    } catch {
      // Three bytes at most are missing of a character that was cut.
    }
  }
  return undefined;
}

/** The most characters of a text that mean nothing in a text. UTF-8 proves by itself that bytes are text, and NUL stands in the
 *  exports of some programs. */
const MAX_NOISE_IN_UTF8 = 0.3;
const MAX_NOISE = 0.01;

function checked(decoded: DecodedText, maxNoise: number): DecodedText | undefined {
  const sample = decoded.text.slice(0, SAMPLE);
  const noise = sample.match(/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]/g)?.length ?? 0;
  return noise > sample.length * maxNoise ? undefined : decoded;
}

/** One byte a letter, or an Asian encoding. */
function decodeOld(bytes: Uint8Array): DecodedText {
  const declared = declaredEncodingOf(bytes);
  const asian = declared ?? asianEncodingOf(bytes.subarray(0, SAMPLE));
  const encoding = asian ?? cyrillicEncodingOf(bytes.subarray(0, SAMPLE)) ?? 'windows-1252';
  return { text: decodeAs(encoding, bytes), encoding };
}

/** As HTML and XML say it at their beginning. UTF-8 was tried before, and UTF-16 would not let the declaration be read. */
function declaredEncodingOf(bytes: Uint8Array): string | undefined {
  const start = decodeAs('windows-1252', bytes.subarray(0, 4_096));
  const name = /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]+)|<\?xml[^>]{0,100}encoding\s*=\s*["']([\w-]+)/i.exec(start);
  const label = name?.[1] ?? name?.[2];
  if (!label || /^utf-?(8|16)/i.test(label)) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined; // a name that nobody knows
  }
}

const ASIAN = ['shift_jis', 'euc-jp', 'euc-kr', 'gb18030', 'big5'] as const;

/** The Asian encoding that the bytes keep to and whose letters are those that its language uses most. Western texts rarely keep to
 *  the pairs of any. */
function asianEncodingOf(sample: Uint8Array): string | undefined {
  const high = sample.reduce((count, byte) => count + (byte >= 0x80 ? 1 : 0), 0);
  if (high < sample.length * 0.2) return undefined;
  const scored = ASIAN.map((encoding) => ({ encoding, score: scoreOf(sample, encoding) }));
  const best = scored.reduce((a, b) => (b.score > a.score ? b : a));
  return best.score > 0.6 ? best.encoding : undefined;
}

/** Kana, Hangul and the particles of Chinese, as a share of the letters that are not Latin. */
function scoreOf(sample: Uint8Array, encoding: (typeof ASIAN)[number]): number {
  const text = decodeAs(encoding, sample.subarray(0, sample.length - 4));
  const letters = text.match(/[^\x00-\x7f]/g)?.length ?? 0;
  if (letters < 4 || (text.match(/[\ufffd\ue000-\uf8ff]/g)?.length ?? 0) > letters * 0.01) return 0;
  const own = {
    shift_jis: /[\u3040-\u30ff\u3000-\u303f]/g,
    'euc-jp': /[\u3040-\u30ff\u3000-\u303f]/g,
    'euc-kr': /[\uac00-\ud7a3]/g,
    gb18030: /[的一是不了在人有我他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生，。、]/g,
    big5: /[的一是不了在人有我他這為之大來以個中上們到說國和地也子時道出而要於就下得可你年生，。、]/g,
  }[encoding];
  const share = (text.match(own)?.length ?? 0) / letters;
  // One letter in seven of a Chinese text is among the commonest; of a Japanese text, every second is kana.
  const usual = { shift_jis: 0.35, 'euc-jp': 0.35, 'euc-kr': 0.9, gb18030: 0.14, big5: 0.14 }[encoding];
  return Math.min(1, share / usual);
}

const CYRILLIC = ['windows-1251', 'koi8-r', 'ibm866'] as const;

/** Cyrillic text is mostly small letters, of which some are very common. A Western text has no such runs of high bytes. */
function cyrillicEncodingOf(sample: Uint8Array): string | undefined {
  const high = sample.reduce((count, byte) => count + (byte >= 0x80 ? 1 : 0), 0);
  if (high < sample.length * 0.3) return undefined;
  const scored = CYRILLIC.map((encoding) => {
    const text = decodeAs(encoding, sample);
    return { encoding, score: (text.match(/[оеаинтсрвлкмдпу ]/g)?.length ?? 0) / text.length };
  });
  const best = scored.reduce((a, b) => (b.score > a.score ? b : a));
  return best.score > 0.5 ? best.encoding : undefined;
}
