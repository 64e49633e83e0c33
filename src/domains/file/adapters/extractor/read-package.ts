import { openZip, type OpenedZip } from './open-zip.js';
import { mainPartOf } from './package-parts.js';
import type { ReadContent } from './read-content.js';
import { orRefuse, refuse } from './refuse.js';

const FORMATS = {
  odt: 'opendocument.text',
  ods: 'opendocument.spreadsheet',
  odp: 'opendocument.presentation',
} as const;

/** A document whose format is a zip archive of parts. Other archives are refused. */
export async function readPackage(bytes: Buffer): Promise<ReadContent> {
  const zip = await openZip(bytes);
  const damaged = 'The document is damaged. Open it in the program that made it, save it again and upload it.';
  return orRefuse(damaged, async () => (await readOffice(zip)) ?? (await readOpen(zip)) ?? refuseArchive(zip));
}

async function readOffice(zip: OpenedZip): Promise<ReadContent | undefined> {
  if (!zip.has('[Content_Types].xml')) return undefined;
  const main =
    (await mainPartOf(zip)) ??
    zip.names.find((name) => /^(?:word\/document|xl\/workbook|ppt\/presentation)\.xml$/.test(name));
  if (main === undefined)
    throw refuse('The file is no document that can be read. Save it as docx, xlsx, pptx or PDF and upload that.');
  const { readDocx, readPptx, readXlsx } = await readers();
  const types = (await zip.read('[Content_Types].xml')).toString('utf8');
  const [, type = main] = new RegExp(`PartName="/${escape(main)}"[^>]*ContentType="([^"]*)"`).exec(types) ?? [];
  if (/sheet\.binary/.test(type))
    throw refuse('The file is a binary workbook (xlsb). Save it as xlsx and upload that.');
  if (/wordprocessingml|ms-word|^word\//.test(type)) return readDocx(zip, main);
  if (/presentationml|ms-powerpoint|^ppt\//.test(type)) return readPptx(zip, main);
  if (/spreadsheetml|ms-excel|^xl\//.test(type)) return readXlsx(zip);
  throw refuse(
    'The file is an Office drawing or another kind that holds no text here. Save it as PDF and upload that.',
  );
}

/** Loaded when the first document of a kind comes, because most children read a few kinds alone. */
async function readers() {
  const [{ readDocx }, { readPptx }, { readXlsx }] = await Promise.all([
    import('./read-docx.js'),
    import('./read-pptx.js'),
    import('./read-xlsx.js'),
  ]);
  return { readDocx, readPptx, readXlsx };
}

async function readOpen(zip: OpenedZip): Promise<ReadContent | undefined> {
  if (!zip.has('content.xml') || !zip.has('mimetype')) return undefined;
  const type = (await zip.read('mimetype')).toString('latin1');
  const format = (Object.keys(FORMATS) as (keyof typeof FORMATS)[]).find((each) => type.includes(FORMATS[each]));
  if (!format) return undefined;
  const isEncrypted =
    zip.has('META-INF/manifest.xml') && (await zip.read('META-INF/manifest.xml')).includes('encryption-data');
  if (isEncrypted) throw refuse('The document is protected with a password. Remove the password and upload it again.');
  const { readOpenDocument } = await import('./read-open-document.js');
  return readOpenDocument(zip, format);
}

function refuseArchive(zip: OpenedZip): never {
  if (zip.has('META-INF/container.xml')) throw refuse('The file is an e-book (EPUB). Save it as PDF and upload that.');
  throw refuse('The file is a zip archive. Unpack it and upload the files in it.');
}

function escape(path: string): string {
  return path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
