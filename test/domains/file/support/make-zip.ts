import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  name: string;
  bytes: Buffer;
  /** Instead of the true size. */
  declared?: number;
  isEncrypted?: boolean;
}

/** An archive as any program writes it, or with a lie in it. */
export function makeZip(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const packed = deflateRawSync(entry.bytes, { level: 9 });
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(entry.isEncrypted ? 0x801 : 0x800, 2);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(crc32(entry.bytes), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(entry.declared ?? entry.bytes.length, 18);
    facts.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('504b0304', 'hex'), facts, name, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    centrals.push(Buffer.concat([Buffer.from('504b01021400', 'hex'), facts, rest, name]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  end.write('504b0506', 'hex');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** A document of Office from its parts, the first of which is the main part. Relations are `{ from: { id: [type, target] } }`. */
export function makeOffice(
  kind: 'wordprocessingml.document' | 'presentationml.presentation' | 'spreadsheetml.sheet',
  parts: Readonly<Record<string, string>>,
  relations: Readonly<Record<string, Readonly<Record<string, readonly [string, string]>>>> = {},
): Buffer {
  const [main = ''] = Object.keys(parts);
  const type = `application/vnd.openxmlformats-officedocument.${kind}.main+xml`;
  // Excel's readers find the styles by their type.
  const styles =
    'xl/styles.xml' in parts
      ? '<Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>'
      : '';
  const all: Record<string, string> = {
    '[Content_Types].xml': `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${main}" ContentType="${type}"/>${styles}</Types>`,
    '_rels/.rels': relationsXml({ r1: ['officeDocument', main] }),
    ...parts,
  };
  for (const [from, own] of Object.entries(relations)) {
    all[from.replace(/([^/]+)$/, '_rels/$1.rels')] = relationsXml(own);
  }
  return makeZip(Object.entries(all).map(([name, text]) => ({ name, bytes: Buffer.from(text) })));
}

function relationsXml(relations: Readonly<Record<string, readonly [string, string]>>): string {
  const each = Object.entries(relations).map(
    ([id, [type, target]]) => `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  );
  return `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${each.join('')}</Relationships>`;
}

/** A Word document whose body is this XML. */
export function makeDocx(body: string, parts: Readonly<Record<string, string>> = {}): Buffer {
  return makeOffice('wordprocessingml.document', {
    'word/document.xml': `<?xml version="1.0"?><w:document xmlns:w="urn:w" xmlns:r="urn:r" xmlns:mc="urn:mc"><w:body>${body}</w:body></w:document>`,
    ...parts,
  });
}

export function paragraph(text: string, properties = ''): string {
  return `<w:p>${properties && `<w:pPr>${properties}</w:pPr>`}<w:r><w:t>${text}</w:t></w:r></w:p>`;
}
