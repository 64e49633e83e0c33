import { z } from 'zod';
import { findAggregate } from '../db/aggregates.js';
import type { SubmissionStats } from '../db/submission-stats.js';
import { Computed, computedOf } from './aggregate-answer.js';
import type { ApiDeps, App } from '../../../api/parts.js';
import { problems } from '../../../api/http/problem.js';

const Rate = z.number().min(0).max(1).nullable().describe('Null: there was nothing to take a share of');

const Stats = z.object({
  total: z.int(),
  live: z.int(),
  byState: z.record(z.string(), z.int()),
  skills: z.int().describe('In the registry'),
  versions: z.int(),
  lastDay: z.object({ received: z.int(), ended: z.int() }).describe('In the present hour and the 24 before it'),
  rates: z
    .object({ autoApproveRate: Rate, needsReviewRate: Rate, rejectionRate: Rate, jobFailureRate: Rate })
    .describe('Of this day and the six before it, in UTC'),
});

const Answer = Computed.extend({ stats: Stats.nullable() });

export function addSubmissionStatsRoute(app: App, { pool }: Pick<ApiDeps, 'pool'>): void {
  app.get(
    '/api/v1/submissions/stats',
    {
      schema: {
        tags: ['submissions'],
        summary: 'Figures of all submissions, computed every few minutes, with their age',
        response: { 200: Answer, ...problems() },
      },
    },
    async () => {
      const aggregate = await findAggregate<SubmissionStats>(pool, 'submission-stats');
      return { ...computedOf(aggregate), stats: aggregate?.figures ?? null };
    },
  );
}
