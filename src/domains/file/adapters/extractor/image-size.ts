export interface ImageSize {
  width: number;
  height: number;
}

/** The size as the picture's own header says it. Undefined: the header is damaged. */
export function imageSizeOf(format: string, bytes: Buffer): ImageSize | undefined {
  try {
    const size = READERS[format]?.(bytes);
    return size && size.width > 0 && size.height > 0 ? size : undefined;
  } catch {
    return undefined; // the header is cut off
  }
}

const READERS: Readonly<Record<string, (bytes: Buffer) => ImageSize | undefined>> = {
  png: (bytes) => ({ width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }),
  gif: (bytes) => ({ width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }),
  bmp: bmpSize,
  jpeg: jpegSize,
  webp: webpSize,
  tiff: tiffSize,
};

function bmpSize(bytes: Buffer): ImageSize {
  const isOld = bytes.readUInt32LE(14) === 12;
  if (isOld) return { width: bytes.readUInt16LE(18), height: bytes.readUInt16LE(20) };
  // A negative height says that the rows begin at the top.
  return { width: bytes.readInt32LE(18), height: Math.abs(bytes.readInt32LE(22)) };
}

/** The size stands in the frame's header, behind any number of other segments. */
function jpegSize(bytes: Buffer): ImageSize | undefined {
  for (let at = 2; at + 9 < bytes.length;) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function webpSize(bytes: Buffer): ImageSize | undefined {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

const TIFF_WIDTH = 256;
const TIFF_HEIGHT = 257;

/** The first page's. */
function tiffSize(bytes: Buffer): ImageSize {
  const isLittle = bytes.toString('latin1', 0, 2) === 'II';
  const short = (at: number): number => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const long = (at: number): number => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const folder = long(4);
  const size = { width: 0, height: 0 };
  for (let entry = 0; entry < short(folder); entry += 1) {
    const at = folder + 2 + entry * 12;
    const value = short(at + 2) === 3 ? short(at + 8) : long(at + 8);
    if (short(at) === TIFF_WIDTH) size.width = value;
    if (short(at) === TIFF_HEIGHT) size.height = value;
  }
  return size;
}
