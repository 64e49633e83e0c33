import type { Domain } from '../../start/parts/domain.js';
import { createFileLetter } from './api/file-letter.js';
import { cleanUpMetrics } from './db/clean-up-totals.js';
import { type FileSettings, fileSettings } from './settings.js';
import { fileJobs } from './start/jobs.js';
import { file } from './table.js';

/** Files that people upload and search. */
export const fileDomain: Domain<FileSettings> = {
  name: 'file',
  tables: [file],
  words: ['uploads', 'extractor', 'extraction', 'ocr'],
  settings: fileSettings,
  jobs: fileJobs,
  metrics: cleanUpMetrics,
  async routes(app, parts, settings) {
    const { addDashboardRoutes } = await import('./start/dashboard-routes.js');
    addDashboardRoutes(app, parts, settings);
  },
  letters: () => ({ file: createFileLetter() }),
};
