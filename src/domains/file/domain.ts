import type { Domain } from '../../start/parts/domain.js';
import { createFileLetter } from './api/file-letter.js';
import { cleanUpMetrics } from './db/clean-up-totals.js';
import { fileKeeps } from './db/keeps.js';
import { type FileSettings, fileSettings } from './settings.js';
import { extractorCheck } from './start/extractor-check.js';
import { fileJobs } from './start/jobs.js';
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
  jobs: fileJobs,
  keeps: fileKeeps,
  metrics: cleanUpMetrics,
  checks: [extractorCheck],
  async stages(parts, settings) {
    const { createFileStages } = await import('./start/file-stages.js');
    return { file: createFileStages(parts, settings) };
  },
  async routes(app, parts, settings) {
    const { addRoutes } = await import('./start/routes.js');
    await addRoutes(app, parts, settings);
  },
  letters: () => ({ file: createFileLetter() }),
  commands: {
    search: () => import('./start/search.js'),
    upload: () => import('./start/upload.js'),
  },
};
