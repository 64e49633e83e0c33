import type { Domain } from '../../start/parts/domain.js';
import { type FileSettings, fileSettings } from './settings.js';
import { extractorCheck } from './start/extractor-check.js';
import { file } from './table.js';

/** Files that people upload and search. */
export const fileDomain: Domain<FileSettings> = {
  name: 'file',
  tables: [file],
  words: ['uploads', 'extractor', 'extraction', 'ocr'],
  settings: fileSettings,
  checks: [extractorCheck],
};
