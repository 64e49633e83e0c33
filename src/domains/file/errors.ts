import { declareCodes } from '../../core/errors.js';

export const FILE_CODES = declareCodes({
  extraction_timeout: { kind: 'unavailable', title: 'Reading the file took too long', errorClass: 'SCAN_TIMEOUT' },
  extraction_failed: { kind: 'unavailable', title: 'The file could not be read' },
  upload_expired: { kind: 'gone', title: 'The upload has expired' },
  upload_missing: { kind: 'conflict', title: 'The file was not uploaded' },
});
