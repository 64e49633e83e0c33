import yauzl from 'yauzl';
import { refuse } from './refuse.js';

/** The largest sound documents have some thousand entries, for pictures and slides. */
const MAX_ENTRIES = 10_000;

/** All entries together, inflated. Ten times the largest upload. */
const MAX_TOTAL_BYTES = 1_024 ** 3;

/** The parts that hold text, inflated. A spreadsheet with a million cells has some 60 MB. */
const MAX_READ_BYTES = 256 * 1_024 ** 2;

/** Text in XML shrinks to a tenth, and to a fiftieth where a table repeats itself. Small entries may shrink more. */
const MAX_RATIO = 200;
const RATIO_FROM_BYTES = 10 * 1_024 ** 2;

/** The text parts of a zip-based document. Nothing is written to the disk, and archives within the archive are not opened. */
export interface OpenedZip {
  names: readonly string[];
  has(name: string): boolean;
  /** Fails when all that was read together is too much, or more than was declared. */
  read(name: string): Promise<Buffer>;
}

const DAMAGED = 'The file is damaged or was cut off. Open it in the program that made it, save it again and upload it.';

/** Checks the list of entries before any of them is inflated, so that a bomb is refused in milliseconds. */
export async function openZip(bytes: Buffer): Promise<OpenedZip> {
  const zip = await listed(bytes);
  if (zip.entryCount > MAX_ENTRIES) throw tooMany();
  const entries = new Map<string, yauzl.Entry>();
  let [inflated, packed] = [0, 0];
  await new Promise<void>((resolve, reject) => {
    zip.on('entry', (entry: yauzl.Entry) => {
      inflated += entry.uncompressedSize;
      packed += entry.compressedSize;
      const fault = faultOf(entry, { inflated, packed });
      if (fault) return reject(fault);
      entries.set(entry.fileName, entry);
      zip.readEntry();
    });
    zip.on('end', resolve);
    zip.on('error', (error: Error) => reject(refuse(sentenceOf(error), error)));
    zip.readEntry();
  });

  let read = 0;
  return {
    names: [...entries.keys()],
    has: (name) => entries.has(name),
    async read(name) {
      const entry = entries.get(name);
      if (!entry) throw refuse(DAMAGED, new Error(`there is no ${name}`));
      const content = await inflate(zip, entry, MAX_READ_BYTES - read);
      read += content.length;
      return content;
    },
  };
}

function listed(bytes: Buffer): Promise<yauzl.ZipFile> {
  return new Promise((resolve, reject) => {
    yauzl.fromBuffer(bytes, { lazyEntries: true, validateEntrySizes: true }, (error, zip) => {
      if (error) reject(refuse(DAMAGED, error));
      else resolve(zip);
    });
  });
}

function faultOf(entry: yauzl.Entry, sums: { inflated: number; packed: number }): Error | undefined {
  const isEncrypted = (entry.generalPurposeBitFlag & 1) === 1;
  if (isEncrypted) return refuse('The file is protected with a password. Remove the password and upload it again.');
  if (sums.inflated > MAX_TOTAL_BYTES)
    return refuse('The file unpacks to more than 1 GB. Split it and upload the parts.');
  const isBomb = isTooDense(entry.uncompressedSize, entry.compressedSize) || isTooDense(sums.inflated, sums.packed);
  if (isBomb) return refuse('The file unpacks to far more than a document does, so it was not opened.');
  return undefined;
}

function tooMany(): Error {
  return refuse(`The file holds more than ${MAX_ENTRIES} entries, which no document needs.`);
}

function isTooDense(inflated: number, packed: number): boolean {
  return inflated > RATIO_FROM_BYTES && inflated > packed * MAX_RATIO;
}

function sentenceOf(error: Error): string {
  const isClimbing = /relative path|absolute path|characters in fileName/.test(error.message);
  return isClimbing ? 'The file has an entry whose name leads out of its folder, so it was not opened.' : DAMAGED;
}

/** The declared size can lie, so the bytes are counted as they come. */
function inflate(zip: yauzl.ZipFile, entry: yauzl.Entry, room: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error) return reject(refuse(DAMAGED, error));
      const chunks: Buffer[] = [];
      let size = 0;
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > room)
          stream.destroy(refuse('The text of the file is larger than 256 MB. Split it and upload the parts.'));
      });
      stream.on('error', (fault) => reject(fault.name === 'AppError' ? fault : refuse(DAMAGED, fault)));
      stream.on('end', () => resolve(Buffer.concat(chunks)));
    });
  });
}
