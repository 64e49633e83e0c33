import { expect, it } from 'vitest';
import { adviceFor } from '../../../../src/domains/file/core/file-advice.js';

const FILE = { id: 'F', batchId: 'B', state: 'queued', isEnded: false, errorClass: null, isConfirmed: true };

it.each([
  [
    { state: 'registered', isConfirmed: false },
    /^PUT its bytes .* \/api\/v2\/uploads\/batches\/B\/files\/F\/confirm\.$/,
  ],
  [{ state: 'uploaded', isConfirmed: false }, /^Its bytes are there: POST .*confirm\.$/],
  [{ state: 'ready', isEnded: true }, /searched/],
  [{ state: 'failed', isEnded: true, isConfirmed: false }, /register it again/],
  [{ state: 'failed', isEnded: true, errorClass: 'BAD_INPUT' }, /^Mend the file/],
  [{ state: 'failed', isEnded: true, errorClass: 'SCAN_TIMEOUT' }, /^Split the file/],
  [{ state: 'failed', isEnded: true, errorClass: 'STORAGE_ERROR' }, /^POST \/api\/v2\/files\/F\/retry begins/],
])('tells the owner of %j what to do', (changes, advice) => {
  expect(adviceFor({ ...FILE, ...changes })).toMatch(advice);
});

it.each(['queued', 'extracting', 'chunking', 'embedding'])('leaves %s to the diagnosis', (state) => {
  expect(adviceFor({ ...FILE, state })).toBeNull();
});
