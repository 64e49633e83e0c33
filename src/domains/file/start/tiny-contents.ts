import { crc32, deflateSync } from 'node:zlib';

/** A page with one word. It has no table of references, which readers make themselves. */
export function tinyPdf(word = 'Hello'): Buffer {
  const shown = `BT /F 24 Tf 20 100 Td (${word}) Tj ET`;
  return Buffer.from(
    [
      '%PDF-1.4',
      '1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj',
      '2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj',
      '3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>> endobj',
      `4 0 obj <</Length ${shown.length}>> stream\n${shown}\nendstream endobj`,
      '5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj',
      'trailer <</Root 1 0 R>>',
      '%%EOF',
    ].join('\n'),
    'latin1',
  );
}

/** A white PNG. */
export function tinyPicture(side = 16): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head[8] = 8; // bits of a grey pixel
  const rows = Buffer.alloc(side * (side + 1), 0xff);
  for (let row = 0; row < side; row += 1) rows[row * (side + 1)] = 0; // no filter
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([signature, pngChunk('IHDR', head), pngChunk('IDAT', deflateSync(rows)), pngChunk('IEND')]);
}

function pngChunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}
