import { declareCodes } from '../../core/errors.js';

export const SUBMISSION_CODES = declareCodes({
  scan_timeout: { kind: 'unavailable', title: 'The scan took too long', errorClass: 'SCAN_TIMEOUT' },
  scan_failed: { kind: 'unavailable', title: 'The scan did not finish' },
  judge_refused: { kind: 'invalid', title: 'The judge does not take our requests', errorClass: 'LLM_ERROR' },
  judge_declined: { kind: 'invalid', title: 'The judge cannot judge this content' },
  judge_unavailable: { kind: 'unavailable', title: 'The judge gives no answer', errorClass: 'LLM_ERROR' },
});
