import type { Pipeline } from '../core/pipeline.js';
import { canary } from './canary.js';
import { submission } from './submission.js';

/** Every pipeline there is, by name. A new one is one line here. */
export const PIPELINES: Readonly<Record<string, Pipeline>> = { canary, submission };
