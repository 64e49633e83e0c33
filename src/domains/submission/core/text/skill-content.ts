/** A longer file is generated, or hides something. It does not pass the scan, and the judge is shown no more than this
 *  of a file. */
export const MAX_READ_FILE_BYTES = 100 * 1_024;

/** The fields of a file that make contents different. */
interface ContentFile {
  path: string;
  bytes: Uint8Array;
  isExecutable: boolean;
}

const encoder = new TextEncoder();

/** Hashed first, so that a later form of this list can never give the hash of this form. */
const FORM = encoder.encode('unstuck skill content 1\n');

const CR = 13;
const LF = 10;

/** The bytes that a content hash is taken over. Files are sorted by path, and the length stands before every name and
 *  content, so that two different sets never give the same bytes. Line ends are unified, because a checkout on Windows
 *  is the same content. The executable flag is included, because the judge looks at it. */
export function* contentParts(files: readonly ContentFile[]): Generator<Uint8Array> {
  yield FORM;
  yield lengthOf(files.length);
  for (const { path, bytes, isExecutable } of files.toSorted(byPath)) {
    const name = encoder.encode(path);
    const content = unifyLineEnds(bytes);
    yield lengthOf(name.length);
    yield name;
    yield Uint8Array.of(isExecutable ? 1 : 0);
    yield lengthOf(content.length);
    yield content;
  }
}

/** Compares by code units and not by a locale, so that the order is the same on every machine. */
export function byPath(a: { path: string }, b: { path: string }): number {
  if (a.path === b.path) return 0;
  return a.path < b.path ? -1 : 1;
}

function lengthOf(length: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, length);
  return bytes;
}

/** A file with a zero byte is not text and stays as it is. */
function unifyLineEnds(bytes: Uint8Array): Uint8Array {
  if (bytes.includes(0) || !bytes.includes(CR)) return bytes;
  return bytes.filter((byte, at) => byte !== CR || bytes[at + 1] !== LF);
}
