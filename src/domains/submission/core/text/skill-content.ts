/** What is longer is generated, or hides something: it passes no scan, and no judge is shown more of it. */
export const MAX_READ_FILE_BYTES = 100 * 1_024;

/** Enough of a file to tell contents apart. */
interface ContentFile {
  path: string;
  bytes: Uint8Array;
  isExecutable: boolean;
}

const encoder = new TextEncoder();

/** Hashed first, so that a later form of this list can never have the hash of this one. */
const FORM = encoder.encode('unstuck skill content 1\n');

const CR = 13;
const LF = 10;

/** The bytes that a content hash is taken over. Files come sorted by path, and every name and content goes behind its length, so
 *  that no two different sets give the same bytes. Line ends are unified: a checkout on Windows is the same content. Whether a
 *  file can be executed is part of it, because a judge looks at that. */
export function* contentParts(files: readonly ContentFile[]): Generator<Uint8Array> {
  yield FORM;
  yield lengthOf(files.length);
  for (const { path, bytes, isExecutable } of files.toSorted(byPath)) {
    const name = encoder.encode(path);
    const content = withUnixLineEnds(bytes);
    yield lengthOf(name.length);
    yield name;
    yield Uint8Array.of(isExecutable ? 1 : 0);
    yield lengthOf(content.length);
    yield content;
  }
}

/** By code units, not by a locale: the same on every machine. */
export function byPath(a: { path: string }, b: { path: string }): number {
  if (a.path === b.path) return 0;
  return a.path < b.path ? -1 : 1;
}

function lengthOf(length: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, length);
  return bytes;
}

/** A file with a zero byte in it is no text, and is left as it is. */
function withUnixLineEnds(bytes: Uint8Array): Uint8Array {
  if (bytes.includes(0) || !bytes.includes(CR)) return bytes;
  return bytes.filter((byte, at) => byte !== CR || bytes[at + 1] !== LF);
}
