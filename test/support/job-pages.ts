import { addPage, areZero, emptyRecord, type JobRecord } from '../../src/core/jobs.js';
import type { JobPage, PageContext } from '../../src/ports/job.js';

const { signal } = new AbortController();

/** A page that hangs until it is aborted. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')));
  });
}

/** Turns the pages of a job to the last, as run-job does, without Temporal. */
export async function turnPages(
  page: JobPage,
  told: Partial<PageContext>,
): Promise<{ record: JobRecord; last: { isWhole: boolean } }> {
  let record = emptyRecord();
  let cursor = told.cursor ?? null;
  const context = { input: {}, atMost: null, deadline: new Date(Date.now() + 60_000), startedAt: new Date(), signal };
  for (;;) {
    const answer = await page({ ...context, beat: () => undefined, ...told, cursor });
    const { counts, errors = [], costCents = 0, phases = {} } = answer;
    const isIdle = answer.isIdle ?? (areZero(counts) && errors.length === 0);
    record = addPage(record, { counts, errors, costCents, phases, isIdle });
    if ('last' in answer) return { record, last: { isWhole: answer.isWhole !== false } };
    cursor = answer.next;
  }
}
