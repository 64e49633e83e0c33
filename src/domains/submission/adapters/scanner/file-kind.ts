/** The kind is told by the content, because a name can lie. A signature stands at the start of the file unless `at`
 *  gives an offset. */
const SIGNATURES: readonly { bytes: string; at?: number; kind: 'archive' | 'binary' }[] = [
  { bytes: 'PK\x03\x04', kind: 'archive' }, // zip, jar, docx, whl
  { bytes: 'PK\x05\x06', kind: 'archive' },
  { bytes: '\x1f\x8b', kind: 'archive' }, // gzip
  { bytes: 'BZh', kind: 'archive' },
  { bytes: '\xfd7zXZ\x00', kind: 'archive' },
  { bytes: '7z\xbc\xaf\x27\x1c', kind: 'archive' },
  { bytes: 'Rar!\x1a\x07', kind: 'archive' },
  { bytes: '\x28\xb5\x2f\xfd', kind: 'archive' }, // zstd
  { bytes: '\x04\x22\x4d\x18', kind: 'archive' }, // lz4
  { bytes: '\x1f\x9d', kind: 'archive' },
  { bytes: 'MSCF', kind: 'archive' },
  { bytes: '!<arch>\n', kind: 'archive' },
  { bytes: 'ustar', at: 257, kind: 'archive' },
  { bytes: '%PDF-', kind: 'binary' },
  { bytes: '\x7fELF', kind: 'binary' },
  { bytes: '\xd0\xcf\x11\xe0', kind: 'binary' }, // OLE
  { bytes: 'GIF8', kind: 'binary' },
];

/** Control characters that text does not contain: all but tab, line ends, form feed and escape. */
const CONTROL = /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]/;

export type FileKind = { kind: 'text'; text: string } | { kind: 'archive' | 'binary' | 'unreadable' };

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function fileKindOf(bytes: Uint8Array): FileKind {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 512)).toString('latin1');
  const known = SIGNATURES.find(({ bytes: signature, at = 0 }) => start.startsWith(signature, at));
  if (known) return { kind: known.kind };
  const text = decodeText(bytes);
  if (text === undefined) return { kind: start.includes('\0') ? 'binary' : 'unreadable' };
  return CONTROL.test(text) ? { kind: 'binary' } : { kind: 'text', text };
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined; // not UTF-8: the caller reports it
  }
}
