import { crc32 } from 'node:zlib';

/** An archive of parts that were checked already, not compressed, for a parser that opens archives itself. It then finds nothing that
 *  was not checked. */
export function storedZip(parts: readonly { name: string; bytes: Buffer }[]): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes } of parts) {
    const path = Buffer.from(name);
    const facts = factsOf(path, bytes);
    const local = Buffer.concat([Buffer.from('504b0304', 'hex'), facts, path]);
    const central = Buffer.alloc(14);
    central.writeUInt32LE(offset, 10);
    centrals.push(Buffer.concat([Buffer.from('504b01021400', 'hex'), facts, central, path]));
    locals.push(local, bytes);
    offset += local.length + bytes.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  end.write('504b0506', 'hex');
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

/** The fields that stand in both headers of an entry: version, flags (names in UTF-8), method, time, sum, sizes, lengths. */
function factsOf(path: Buffer, bytes: Buffer): Buffer {
  const facts = Buffer.alloc(26);
  facts.writeUInt16LE(20, 0);
  facts.writeUInt16LE(0x800, 2);
  facts.writeUInt32LE(crc32(bytes), 10);
  facts.writeUInt32LE(bytes.length, 14);
  facts.writeUInt32LE(bytes.length, 18);
  facts.writeUInt16LE(path.length, 22);
  return facts;
}
