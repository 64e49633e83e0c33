import type { Pipeline } from '../core/pipeline.js';
import { canary } from './canary/table.js';
import { file } from './file/table.js';
import { submission } from './submission/table.js';

/** The pipelines of every domain, by name: one line each. */
export const PIPELINES: Readonly<Record<string, Pipeline>> = {
  canary,
  file,
  submission,
};
