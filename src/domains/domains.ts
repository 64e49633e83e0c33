import type { Domain } from '../start/parts/domain.js';
import { canaryDomain } from './canary/domain.js';
import { fileDomain } from './file/domain.js';
import { submissionDomain } from './submission/domain.js';

/** The manifest of every domain. */
export const DOMAINS: readonly Domain[] = [
  // One line for each domain. The API's reference lists their routes in this order.
  canaryDomain,
  fileDomain,
  submissionDomain,
];
