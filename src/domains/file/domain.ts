import type { Domain } from '../../start/parts/domain.js';
import { file } from './table.js';

/** Files that people upload and search. */
export const fileDomain: Domain = {
  name: 'file',
  tables: [file],
  words: ['uploads', 'extractor', 'extraction', 'ocr'],
};
