import { readFile } from 'node:fs/promises';
import { keepParts } from '../../core/text/kept-parts.js';
import type { ContentOnDisk, Extraction, ExtractionProgress } from '../../ports/extractor.js';
import { orRefuse, refuse } from './refuse.js';
import { sniffContent } from './sniff-content.js';

/** What a reader of a format finds. */
export type ReadContent = Pick<Extraction, 'format' | 'parts'> &
  Partial<Pick<Extraction, 'pages' | 'width' | 'height' | 'isRecognized' | 'isTruncated'>>;

export interface ReadingLimits {
  /** On the clock of `performance.now()`. Reading pictures takes seconds for each, so it ends before the time limit does. */
  recognizeUntil: number;
}

export type Tell = (progress: ExtractionProgress) => void;

/** Reads a content by what it is, and keeps as much text as is kept of a file. */
export async function readContent(
  { path, name }: ContentOnDisk,
  limits: ReadingLimits,
  tell: Tell,
): Promise<Extraction> {
  const bytes = await readFile(path);
  if (bytes.length === 0) throw refuse('The file is empty: it has 0 bytes. Upload it again.');
  const sniffed = sniffContent(bytes);
  tell({ reading: sniffed });
  const read = await orRefuse(
    'The file is damaged. Open it in the program that made it, save it again and upload it.',
    () => readBy(sniffed, { bytes, name, limits, tell }),
  );
  const { parts, isTruncated } = keepParts(read.parts);
  return {
    ...read,
    parts,
    isRecognized: read.isRecognized ?? false,
    isTruncated: isTruncated || (read.isTruncated ?? false),
  };
}

interface Reading {
  bytes: Buffer;
  name: string;
  limits: ReadingLimits;
  tell: Tell;
}

/** The readers are loaded when a content needs them, because most children read a few kinds alone. */
async function readBy(sniffed: ReturnType<typeof sniffContent>, { bytes, name, limits, tell }: Reading) {
  switch (sniffed) {
    case 'pdf':
      return (await import('./read-pdf.js')).readPdf(bytes, limits, tell);
    case 'zip':
      return (await import('./read-package.js')).readPackage(bytes);
    case 'ole':
      return (await import('./refuse-ole.js')).refuseOle(bytes);
    case 'unknown':
      return readTextOrPicture(bytes, name);
  }
}

/** Text comes first, because a text may begin with the letters of a signature. */
async function readTextOrPicture(bytes: Buffer, name: string): Promise<ReadContent> {
  const { pictureFormatOf, refuseBinary } = await import('./binary-format.js');
  const format = await pictureFormatOf(bytes);
  if (format !== undefined) return (await import('./read-image.js')).readImage(bytes, format);
  const { readText } = await import('./read-text.js');
  return (await readText(bytes, name)) ?? (await refuseBinary(bytes));
}
