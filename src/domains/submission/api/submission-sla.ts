import { z } from 'zod';
import { businessDaysBetween } from '../core/business-days.js';
import {
  isCountedAgainst,
  isSlaMet,
  reviewDueAt,
  SLA_NAMES,
  type SlaFigure,
  type SlaName,
  type SlaTargets,
} from '../core/sla.js';
import { findAggregate } from '../db/aggregates.js';
import { listWaitingReviews, type WaitingReview } from '../db/overdue-reviews.js';
import type { SubmissionSla } from '../db/submission-sla.js';
import { Computed, computedOf } from './aggregate-answer.js';
import type { ApiDeps, App } from '../../../api/parts.js';
import { OPERATORS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';

/** A business day takes at least a day, so a review that is younger than so many days can't be overdue. */
const DAY_MS = 86_400_000;

/** The number of waiting reviews that are read, and of overdue reviews that are shown. */
const EXAMINED = 1_000;
const SHOWN = 50;

const Target = z.object({
  name: z.enum(SLA_NAMES),
  measures: z.string(),
  unit: z.enum(['ms', 'business_days']),
  typical: z.object({
    target: z.number(),
    measured: z.number().nullable().describe('The median, estimated within a bucket'),
  }),
  p95: z.object({ target: z.number(), measured: z.number().nullable() }),
  sampleSize: z.int().nullable().describe('Null: nothing was computed yet'),
  withinTypical: z
    .number()
    .nullable()
    .describe('The share of the sample that stayed within the typical target; null: not counted against it yet'),
  isMet: z.boolean().nullable().describe('Both targets; null: nothing was measured, or not counted against them yet'),
});

const Answer = Computed.extend({
  targets: z
    .array(Target)
    .describe('Of this day and the 29 before it, in UTC; reviews are those of the latest submissions that ended'),
  overdueReviews: z.object({
    count: z.int(),
    capped: z.boolean().describe(`More than ${EXAMINED} wait; only the oldest were looked at`),
    items: z
      .array(
        z.object({
          id: z.uuid(),
          skillName: z.string(),
          owner: z.string(),
          state: z.string(),
          since: z.iso.datetime(),
          dueAt: z.iso.datetime(),
          businessDays: z.number().describe('That it has waited'),
        }),
      )
      .describe(`The ${SHOWN} that have waited longest`),
  }),
});

export function addSubmissionSlaRoute(app: App, { pool, sla }: Pick<ApiDeps, 'pool'> & { sla: SlaTargets }): void {
  app.get(
    '/api/v1/admin/sla',
    {
      config: { access: OPERATORS },
      schema: {
        tags: ['submissions'],
        summary: 'What submissions are promised, what was measured, and reviews that are overdue',
        response: { 200: Answer, ...problems() },
      },
    },
    async () => {
      const [aggregate, waiting] = await Promise.all([
        findAggregate<SubmissionSla>(pool, 'submission-sla'),
        listWaitingReviews(pool, sla.review.typical * DAY_MS, EXAMINED),
      ]);
      const now = new Date();
      const overdue = waiting.map((review) => overdueOf(review, now, sla)).filter((each) => each.dueAt < now);
      return {
        ...computedOf(aggregate),
        targets: SLA_NAMES.map((name) => targetOf(name, sla, aggregate?.figures[name])),
        overdueReviews: {
          count: overdue.length,
          capped: waiting.length >= EXAMINED,
          items: overdue.slice(0, SHOWN).map(({ dueAt, ...each }) => ({ ...each, dueAt: dueAt.toISOString() })),
        },
      };
    },
  );
}

function targetOf(name: SlaName, targets: SlaTargets, figure: SlaFigure | undefined): z.output<typeof Target> {
  const { typical, p95, unit, measures } = targets[name];
  const isCounted = figure !== undefined && isCountedAgainst(figure, targets[name]);
  const { p50: median = null, p95: most = null, sampleSize = null, withinTypical = 0 } = figure ?? {};
  return {
    name,
    measures,
    unit,
    sampleSize,
    typical: { target: typical, measured: median },
    p95: { target: p95, measured: most },
    withinTypical: isCounted && sampleSize ? withinTypical / sampleSize : null,
    isMet: isCounted ? isSlaMet(figure) : null,
  };
}

function overdueOf({ since, ...review }: WaitingReview, now: Date, targets: SlaTargets) {
  const dueAt = reviewDueAt(since, targets);
  return { ...review, since: since.toISOString(), dueAt, businessDays: businessDaysBetween(since, now) };
}
