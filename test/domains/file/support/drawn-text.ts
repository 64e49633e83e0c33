import { deflateSync } from 'node:zlib';
import { tinyPdf } from '../../../../src/domains/file/start/tiny-contents.js';

/** Letters of seven rows with five columns each. */
const LETTERS: Readonly<Record<string, readonly number[]>> = {
  H: [17, 17, 17, 31, 17, 17, 17],
  E: [31, 16, 16, 30, 16, 16, 31],
  L: [16, 16, 16, 16, 16, 16, 31],
  O: [14, 17, 17, 17, 17, 17, 14],
  T: [31, 4, 4, 4, 4, 4, 4],
};

/** A dot of a letter has this many pixels a side. */
const DOT = 6;
const MARGIN = 60;

/** A page with one word on it, one bit a pixel, white set. */
function drawWord(word: string): { width: number; height: number; rows: Buffer } {
  const width = Math.ceil((MARGIN * 2 + word.length * 6 * DOT) / 8) * 8;
  const height = MARGIN * 2 + 7 * DOT;
  const rows = Buffer.alloc((width / 8) * height, 0xff);
  for (const [at, letter] of [...word].entries()) {
    for (let y = 0; y < 7 * DOT; y += 1) {
      for (let x = 0; x < 5 * DOT; x += 1) {
        const isBlack = ((LETTERS[letter]?.[Math.floor(y / DOT)] ?? 0) >> (4 - Math.floor(x / DOT))) & 1;
        const column = MARGIN + at * 6 * DOT + x;
        const byte = (MARGIN + y) * (width / 8) + (column >> 3);
        if (isBlack) rows[byte] = (rows[byte] ?? 0) & ~(0x80 >> (column & 7));
      }
    }
  }
  return { width, height, rows };
}

/** A PDF whose only page is a scan: a picture of one bit a pixel, as fax machines and copiers make it. */
export function scannedPdf(word: string): Buffer {
  const { width, height, rows } = drawWord(word);
  const packed = deflateSync(rows);
  const painted = `q ${width} 0 0 ${height} 0 0 cm /I Do Q`;
  const [head = ''] = tinyPdf().toString('latin1').split('3 0 obj');
  return Buffer.concat([
    Buffer.from(
      `${head}3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 ${width} ${height}]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>> endobj
4 0 obj <</Length ${painted.length}>> stream\n${painted}\nendstream endobj
5 0 obj <</Type/XObject/Subtype/Image/Width ${width}/Height ${height}/BitsPerComponent 1/ColorSpace/DeviceGray/Filter/FlateDecode/Length ${packed.length}>> stream\n`,
      'latin1',
    ),
    packed,
    Buffer.from('\nendstream endobj\ntrailer <</Root 1 0 R>>\n%%EOF', 'latin1'),
  ]);
}

/** The same picture alone, as a bitmap with two colours. */
export function drawnBitmap(word: string): Buffer {
  const { width, height, rows } = drawWord(word);
  const head = Buffer.alloc(62);
  head.write('BM', 'latin1');
  const stride = Math.ceil(width / 32) * 4;
  head.writeUInt32LE(62 + stride * height, 2);
  head.writeUInt32LE(62, 10);
  head.writeUInt32LE(40, 14);
  head.writeInt32LE(width, 18);
  head.writeInt32LE(height, 22);
  head.writeUInt16LE(1, 26);
  head.writeUInt16LE(1, 28);
  head.writeUInt32LE(0xffffff, 58);
  const lines = Array.from({ length: height }, (_, y) => {
    const line = Buffer.alloc(stride);
    rows.copy(line, 0, (height - 1 - y) * (width / 8), (height - y) * (width / 8));
    return line;
  });
  return Buffer.concat([head, ...lines]);
}
