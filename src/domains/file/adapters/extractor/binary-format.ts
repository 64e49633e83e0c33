import { fileTypeFromBuffer } from 'file-type';
import { refuse } from './refuse.js';

/** Signatures stand in the first bytes. The detector would open archives if it had all of them. */
const START = 4_100;

const PICTURES: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/apng': 'png',
  'image/jpeg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/tiff': 'tiff',
  'image/bmp': 'bmp',
};

/** Signatures that could as well be the first letters of a text. */
const SHORT = new Set(['bmp']);

/** Undefined: the content is no picture that can be read. */
export async function pictureFormatOf(bytes: Buffer): Promise<string | undefined> {
  const format = PICTURES[(await typeOf(bytes))?.mime ?? ''];
  const isText = format !== undefined && SHORT.has(format) && !bytes.subarray(0, 64).includes(0);
  return isText ? undefined : format;
}

const TIFF = { ext: 'tif', mime: 'image/tiff' } as const;

const ARCHIVES = /^(?:zip|gz|tar|7z|rar|bz2|xz|zst|lz|lz4|Z|cab|ar|deb|rpm|arj|ace|cpio|dmg|iso)$/;

export async function refuseBinary(bytes: Buffer): Promise<never> {
  const { ext, mime } = (await typeOf(bytes)) ?? {};
  if (ext === undefined)
    throw refuse('The file is of no kind that can be read. Save it as PDF, docx, xlsx, pptx or text and upload that.');
  if (ARCHIVES.test(ext)) throw refuse(`The file is an archive (${ext}). Unpack it and upload the files in it.`);
  if (mime?.startsWith('image/'))
    throw refuse(`The picture's format (${ext}) cannot be read. Save it as PNG or JPEG and upload that.`);
  const kinds = 'documents, tables, texts and pictures';
  throw refuse(`The file is of a kind (${ext}) that cannot be read. Only ${kinds} can be read.`);
}

async function typeOf(bytes: Buffer) {
  const found = await fileTypeFromBuffer(bytes.subarray(0, START)).catch(() => undefined);
  // The detector looks for the list of a TIFF's tags, which may stand at its end.
  return found ?? (/^(?:II\*\0|MM\0\*)/.test(bytes.toString('latin1', 0, 4)) ? TIFF : undefined);
}
