import { getDocumentProxy } from 'unpdf';
import type { TextPart } from '../../core/part.js';
import type { ReadingLimits, ReadContent, Tell } from './read-content.js';
import { hasPictures, type Page, picturesOn } from './page-pictures.js';
import { openRecognizer, type Recognizer } from './recognize-text.js';
import { refuse } from './refuse.js';

/** Thicker than any book. At 20 ms for a page they take less than half of the time limit. */
const MAX_PAGES = 5_000;

/** The pixels of a picture that is decoded at all: as many as are read. */
const MAX_IMAGE_PIXELS = 40_000_000;

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

/** The text of each page. A page without text is perhaps a scan, and its pictures are read. */
export async function readPdf(bytes: Buffer, { recognizeUntil }: ReadingLimits, tell: Tell): Promise<ReadContent> {
  const pdf = await openPdf(bytes);
  const pages = Math.min(pdf.numPages, MAX_PAGES);
  const parts: TextPart[] = [];
  const scans: number[] = [];
  let broken = 0;
  for (let page = 1; page <= pages; page += 1) {
    tell({ page, of: pages });
    const read = await readPage(pdf, page).catch(() => undefined);
    if (read === undefined) broken += 1;
    else if (read.isScan) scans.push(page);
    else if (read.text !== '') parts.push({ kind: 'text', text: read.text, page });
  }
  if (broken === pages) throw refuse(DAMAGED);
  const scanned = scans.length === 0 ? NO_SCANS : await readScans(pdf, scans, { recognizeUntil, tell });
  return {
    format: 'pdf',
    parts: [...parts, ...scanned.parts].sort((a, b) => (a.page ?? 0) - (b.page ?? 0)),
    pages: pdf.numPages,
    isRecognized: scanned.parts.length > 0,
    isTruncated: pdf.numPages > MAX_PAGES || scanned.isTruncated,
  };
}

interface Scans {
  parts: TextPart[];
  /** The time was up before the last page. */
  isTruncated: boolean;
}

const NO_SCANS: Scans = { parts: [], isTruncated: false };

async function readScans(
  pdf: Pdf,
  pages: readonly number[],
  { recognizeUntil, tell }: ReadingLimits & { tell: Tell },
): Promise<Scans> {
  const recognizer = await openRecognizer();
  const parts: TextPart[] = [];
  try {
    for (const page of pages) {
      if (performance.now() > recognizeUntil) return { parts, isTruncated: true };
      tell({ page, of: pdf.numPages });
      const text = await readScan(pdf, page, recognizer);
      if (text !== '') parts.push({ kind: 'text', text, page });
    }
    return { parts, isTruncated: false };
  } finally {
    await recognizer.close();
  }
}

const DAMAGED = 'The PDF is damaged and none of its pages can be read. Save it again and upload it.';

async function openPdf(bytes: Buffer): Promise<Pdf> {
  try {
    // Nothing in the file is run, and no font is drawn.
    const options = {
      isEvalSupported: false,
      disableFontFace: true,
      useSystemFonts: false,
      maxImageSize: MAX_IMAGE_PIXELS,
    };
    const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0, stopAtErrors: false, ...options });
    if (pdf.numPages < 1) throw refuse(DAMAGED);
    return pdf;
  } catch (error) {
    const isLocked = error instanceof Error && error.name === 'PasswordException';
    if (isLocked) throw refuse('The PDF is protected with a password. Remove the password and upload it again.', error);
    throw refuse(DAMAGED, error);
  }
}

/** What people read on the page: its text, what was filled into its form, and the notes on it. */
async function readPage(pdf: Pdf, number: number): Promise<{ text: string; isScan: boolean }> {
  const page = await pdf.getPage(number);
  const content = await page.getTextContent();
  const lines = content.items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''));
  const notes = await notesOn(page);
  const text = [lines.join('').trim(), ...notes].filter((each) => each !== '').join('\n');
  const isScan = text === '' && (await hasPictures(page));
  page.cleanup();
  return { text, isScan };
}

async function notesOn(page: Page): Promise<string[]> {
  const annotations = (await page.getAnnotations().catch(() => [])) as readonly Annotation[];
  return annotations.flatMap(({ fieldType, fieldValue, contentsObj }) => {
    const filled = fieldType === 'Tx' || fieldType === 'Ch' ? [fieldValue].flat() : [];
    return [...filled, contentsObj?.str].filter(
      (text): text is string => typeof text === 'string' && text.trim() !== '',
    );
  });
}

interface Annotation {
  fieldType?: string;
  fieldValue?: unknown;
  contentsObj?: { str?: string };
}

async function readScan(pdf: Pdf, number: number, recognizer: Recognizer): Promise<string> {
  const page = await pdf.getPage(number);
  const texts: string[] = [];
  for (const picture of await picturesOn(page)) texts.push(await recognizer.read(picture));
  page.cleanup();
  return texts.filter((text) => text !== '').join('\n');
}
