import type { Domain } from '../../start/parts/domain.js';
import { type FileSettings, fileSettings } from './settings.js';
import { file } from './table.js';

/** Files that people upload and search. */
export const fileDomain: Domain<FileSettings> = {
  name: 'file',
  tables: [file],
  words: ['uploads', 'extractor', 'extraction', 'ocr'],
  settings: fileSettings,
  follows: [
    {
      kind: 'files',
      version: 'v2',
      pipeline: 'file',
      summary: 'What happens to a file, as it happens',
      snapshotFor: () => async (parts, caller, id) => {
        const { answerForFile } = await import('./api/file-reader.js');
        return answerForFile(parts, caller, id);
      },
    },
  ],
  async routes(app, parts, settings) {
    const { addRoutes } = await import('./start/routes.js');
    await addRoutes(app, parts, settings);
  },
  commands: {
    upload: () => import('./start/upload.js'),
  },
};
