import type { z } from 'zod';
import { whole } from '../../../config/values.js';
import type { UploadSettings } from '../core/upload-settings.js';

const MEGABYTE = 1_000_000;
const DAY_MS = 86_400_000;

/** What may be uploaded, and for how long. */
export const uploadVariables = {
  // Larger files are archives and films, whose text nobody searches.
  FILE_MAX_BYTES: whole(1, 1_000 * MEGABYTE).default(100 * MEGABYTE),
  // A picture is decoded before its text is read, and needs a multiple of its size in memory.
  FILE_MAX_IMAGE_BYTES: whole(1, 1_000 * MEGABYTE).default(30 * MEGABYTE),
  // A day is enough for a slow line; S3 signs for a week at most.
  BATCH_TIMEOUT_MS: whole(1_000, 7 * DAY_MS).default(DAY_MS),
};

type Given = Readonly<{ [Name in keyof typeof uploadVariables]: z.output<(typeof uploadVariables)[Name]> }>;

export function uploadsOf(given: Given): UploadSettings {
  return {
    maxBytes: given.FILE_MAX_BYTES,
    maxImageBytes: Math.min(given.FILE_MAX_IMAGE_BYTES, given.FILE_MAX_BYTES),
    batchTimeoutMs: given.BATCH_TIMEOUT_MS,
  };
}
