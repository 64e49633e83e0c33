import { refuse } from './refuse.js';

/** The names of the streams in the container that all old Office programs share, in UTF-16 as they stand in its directory. */
const STREAMS: readonly { name: string; sentence: string }[] = [
  {
    name: 'EncryptedPackage',
    sentence: 'The document is protected with a password. Remove the password and upload it again.',
  },
  { name: 'WordDocument', sentence: 'The file is an old Word document (doc). Save it as docx or PDF and upload that.' },
  { name: 'Workbook', sentence: 'The file is an old Excel workbook (xls). Save it as xlsx and upload that.' },
  { name: 'Book', sentence: 'The file is an old Excel workbook (xls). Save it as xlsx and upload that.' },
  {
    name: 'PowerPoint Document',
    sentence: 'The file is an old PowerPoint presentation (ppt). Save it as pptx or PDF and upload that.',
  },
  { name: '__substg1.0_', sentence: 'The file is an Outlook message (msg). Save it as text or PDF and upload that.' },
];

/** Old Office documents, and new ones behind a password. */
export function refuseOle(bytes: Buffer): never {
  const found = STREAMS.find(({ name }) => bytes.includes(Buffer.from(name, 'utf16le')));
  throw refuse(
    found?.sentence ?? 'The file is in an old format of Office. Save it as docx, xlsx, pptx or PDF and upload that.',
  );
}
