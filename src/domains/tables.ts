import type { Pipeline } from '../core/pipeline.js';
import { canary } from './canary/table.js';
import { submission } from './submission/table.js';

/** Every pipeline there is, by name. A new one is one line here. */
export const PIPELINES: Readonly<Record<string, Pipeline>> = { canary, submission };
