import type { Domain } from '../../start/parts/domain.js';
import { type FileSettings, fileSettings } from './settings.js';
import { file } from './table.js';

/** Files that people upload and search. */
export const fileDomain: Domain<FileSettings> = {
  name: 'file',
  tables: [file],
  words: ['uploads', 'extractor', 'extraction', 'ocr'],
  settings: fileSettings,
  async routes(app, parts, { search }) {
    const { addSearchRoute } = await import('./api/search.js');
    const { createSearchParts } = await import('./start/search-parts.js');
    addSearchRoute(app, createSearchParts(parts, search));
  },
  commands: {
    search: () => import('./start/search.js'),
  },
};
