import { refuse } from './refuse.js';

/** A PDF may have other bytes before its header, as mail programs leave them. */
const PDF_WITHIN = 1_024;

/** What the first bytes say, as far as it decides who reads the content. */
export function sniffContent(bytes: Buffer): 'pdf' | 'zip' | 'ole' | 'unknown' {
  const start = bytes.toString('latin1', 0, PDF_WITHIN);
  if (/^PK(?:\x03\x04|\x05\x06|\x07\x08)/.test(start)) return 'zip';
  if (start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return 'ole';
  if (/^\s*\{\\rtf/.test(start)) throw refuse('The file is rich text (RTF). Save it as docx or PDF and upload that.');
  if (start.startsWith('%!PS')) throw refuse('The file is PostScript. Save it as PDF and upload that.');
  return /^[\s\S]{0,1000}%PDF-\d/.test(start) && !/^\s*<(?:!doctype|html)/i.test(start) ? 'pdf' : 'unknown';
}
