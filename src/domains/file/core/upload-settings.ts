import type { UploadLimits } from './check-upload.js';

export interface UploadSettings extends UploadLimits {
  /** How long a batch takes bytes and confirmations. */
  batchTimeoutMs: number;
}
