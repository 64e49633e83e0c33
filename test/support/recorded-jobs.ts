import type { JobPage } from '../../src/ports/job.js';
import { gate } from './barrier.js';
import { rejectOnAbort } from './job-pages.js';
import { type Maintenance, pageOf } from './maintenance.js';

/** One run for every way through the scheduled workflows; kept and replayed as those of items are. */
export const RECORDED_JOBS: Readonly<Record<string, (maintenance: Maintenance) => Promise<string>>> = {
  'sweep-pages': sweepPages,
  'sweep-failed': sweepFailed,
  'sweep-cancelled': sweepCancelled,
  'run-job-pages': runJobPages,
  'run-job-time-up': runJobTimeUp,
  'run-job-continued': runJobContinued,
  'run-job-paced': runJobPaced,
  'run-job-failed': runJobFailed,
  'run-job-aborted': runJobAborted,
  // Of src/workflows/retired.ts, and removed with it.
  'retention-all': retentionAll,
  'retention-step-failed': retentionStepFailed,
  'retention-of-submissions': retentionAll,
  'stats-refreshed': statsRefreshed,
  'stats-step-failed': statsStepFailed,
  'discover-pages': discoverPages,
  'discover-failed': discoverFailed,
  'enrich-pages': enrichPages,
};

const INPUT = { pipeline: 'straight', rescues: 3 };

async function sweepPages({ work, play }: Maintenance): Promise<string> {
  const pages = [
    pageOf({ examined: 2, totalStuck: 1, reEnqueued: 1, stuckMsTotal: 60_000, byStatus: { READING: 1 } }),
    pageOf({ examined: 1, isLast: true, errors: ['one could not be examined'] }),
  ];
  const worker = await work({ sweepPage: async () => pages.shift() ?? pageOf({ isLast: true }) });
  const id = await play('sweep', INPUT);
  await worker.stop();
  return id;
}

async function sweepFailed({ work, play }: Maintenance): Promise<string> {
  const worker = await work({ sweepPage: () => Promise.reject(new Error('the database is away')) });
  const id = await play('sweep', INPUT);
  await worker.stop();
  return id;
}

async function sweepCancelled({ work, play, client }: Maintenance): Promise<string> {
  const begun = gate();
  const worker = await work({
    sweepPage: () => {
      begun.open();
      return new Promise(() => undefined);
    },
  });
  const id = await play('sweep', INPUT, {
    async onStart(workflowId) {
      await begun.opened;
      await client.workflow.getHandle(workflowId).cancel();
    },
  });
  await worker.stop();
  return id;
}

/** A job of so many pages. */
function countTo(pages: number): JobPage {
  return async ({ cursor }) => {
    const at = Number(cursor ?? 0) + 1;
    return { counts: { things: 1 }, done: 1, ...(at >= pages ? { last: true } : { next: at }) };
  };
}

const JOB = { job: 'recorded', queue: 'jobs', key: '', input: {} };

async function runJobPages({ workJobs, play }: Maintenance): Promise<string> {
  const worker = await workJobs({ recorded: countTo(3) });
  const id = await play('run-job', JOB);
  await worker.stop();
  return id;
}

async function runJobTimeUp({ workJobs, play }: Maintenance): Promise<string> {
  const worker = await workJobs({ recorded: countTo(Number.POSITIVE_INFINITY) });
  // Slowly, so that the history stays short.
  const id = await play('run-job', { ...JOB, perSecond: 1 }, { runTimeoutMs: 6_000 });
  await worker.stop();
  return id;
}

async function runJobContinued({ workJobs, play }: Maintenance): Promise<string> {
  const worker = await workJobs({ recorded: countTo(6) });
  const id = await play('run-job', { ...JOB, key: 'continued', eventsPerRun: 20 });
  await worker.stop();
  return id;
}

async function runJobPaced({ workJobs, play }: Maintenance): Promise<string> {
  const worker = await workJobs({ recorded: countTo(3) });
  const id = await play('run-job', { ...JOB, key: 'paced', perSecond: 4 });
  await worker.stop();
  return id;
}

async function runJobFailed({ workJobs, play }: Maintenance): Promise<string> {
  const worker = await workJobs({ recorded: () => Promise.reject(new Error('the table is gone')) });
  const id = await play('run-job', JOB);
  await worker.stop();
  return id;
}

async function runJobAborted({ workJobs, play, client }: Maintenance): Promise<string> {
  const begun = gate();
  const worker = await workJobs({
    recorded: ({ signal }) => {
      begun.open();
      return rejectOnAbort(signal);
    },
  });
  const id = await play('run-job', JOB, {
    async onStart(workflowId) {
      await begun.opened;
      await client.workflow.getHandle(workflowId).cancel();
    },
  });
  await worker.stop();
  return id;
}

async function retentionAll({ work, play }: Maintenance): Promise<string> {
  let batches = 0;
  const retainBatch = async () => {
    batches += 1;
    return { count: 2, isLast: batches !== 1 };
  };
  const worker = await work({ activities: { retainBatch } });
  const id = await play('retention', {});
  await worker.stop();
  return id;
}

async function retentionStepFailed({ work, play }: Maintenance): Promise<string> {
  const retainBatch = async (step: string) => {
    if (step === 'receipts') throw new Error('somebody holds the lock');
    return { count: 0, isLast: true };
  };
  const worker = await work({ activities: { retainBatch } });
  const id = await play('retention', {});
  await worker.stop();
  return id;
}

async function statsRefreshed({ work, play }: Maintenance): Promise<string> {
  const worker = await work({ activities: { refreshAggregate: async () => undefined } });
  const id = await play('stats-refresh', {});
  await worker.stop();
  return id;
}

async function statsStepFailed({ work, play }: Maintenance): Promise<string> {
  const refreshAggregate = async (name: string) => {
    if (name === 'submission-stats') throw new Error('the statement took too long');
  };
  const worker = await work({ activities: { refreshAggregate } });
  const id = await play('stats-refresh', {});
  await worker.stop();
  return id;
}

/** More packages than may be examined in one run: it stops in the middle. */
async function discoverPages({ work, play }: Maintenance): Promise<string> {
  const discoverPage = async ({ from, budget }: { from: number; budget: number }) => ({
    ...{ seen: 100, examined: budget, submitted: 1, errors: ['one could not be read'], next: from + 100 },
    byOutcome: { submitted: 1, no_skill: budget - 1 },
  });
  const worker = await work({ activities: { discoverPage } });
  const id = await play('discover-npm', { keyword: 'skill', perRun: 7 });
  await worker.stop();
  return id;
}

async function discoverFailed({ work, play }: Maintenance): Promise<string> {
  const discoverPage = () => Promise.reject(new Error('the database is away'));
  const worker = await work({ activities: { discoverPage } });
  const id = await play('discover-npm', { keyword: 'skill', perRun: 7 });
  await worker.stop();
  return id;
}

async function enrichPages({ work, play }: Maintenance): Promise<string> {
  let left = 8;
  const enrichPage = async ({ budget }: { budget: number }) => {
    const examined = Math.min(budget, left);
    left -= examined;
    return { examined, known: examined, errors: [], isLast: left === 0 };
  };
  const worker = await work({ activities: { enrichPage } });
  const id = await play('enrich-skills', { perRun: 20 });
  await worker.stop();
  return id;
}
