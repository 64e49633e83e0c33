import { z } from 'zod';
import { AppError } from '../../core/errors.js';
import { type Bucket, readDays, readHours } from '../../db/reads/pipeline-figures.js';
import type { ApiDeps, App } from '../parts.js';
import { problems } from '../http/problem.js';
import { textUpTo } from '../http/text-up-to.js';

export const HourFigures = z.object({
  received: z.int(),
  finished: z.int(),
  failed: z.int().describe('Items that ended in a failed state, verdicts and cancelled items included'),
  timedOut: z.int().describe('Attempts that timed out; they count in the failures by class too'),
  byClass: z.record(z.string(), z.int()).describe('Failed attempts by error class'),
  averageDurationMs: z.int().nullable().describe('Of the items that ended; null: no item ended'),
});

const Answer = z.object({
  pipeline: z.string(),
  hours: z
    .array(z.object({ hour: z.iso.datetime(), figures: HourFigures.nullable() }))
    .length(48)
    .describe('Newest first, the present one included; null: not counted yet, or over before counting began'),
  days: z
    .array(z.object({ day: z.iso.date(), figures: HourFigures }))
    .describe('By day in UTC, newest first, the present one included'),
});

const HOUR_MS = 3_600_000;
const HOURS = 48;

/** More than two years, as one answer. */
const DAYS = 800;

type Deps = Pick<ApiDeps, 'pool' | 'pipelines'>;

export function addHourlyMetricsRoute(app: App, { pool, pipelines }: Deps): void {
  app.get(
    '/api/v1/metrics/hours',
    {
      config: { access: ['viewer', 'admin'] },
      schema: {
        tags: ['operation'],
        summary: 'What a pipeline did, hour by hour for two days, and day by day',
        querystring: z.strictObject({ pipeline: textUpTo(100) }),
        response: { 200: Answer, ...problems(404) },
      },
    },
    async ({ query: { pipeline } }) => {
      const table = pipelines[pipeline];
      if (!table) throw new AppError('not_found', `there is no pipeline ${pipeline}`);
      const [hours, days] = await Promise.all([readHours(pool, table, HOURS), readDays(pool, table, DAYS)]);
      return {
        pipeline,
        hours: hoursBack(new Date()).map((hour) => ({
          hour,
          figures: hourFiguresOf(hours.find(({ at }) => at === hour)),
        })),
        days: days.map((day) => ({ day: day.at, figures: figuresIn(day) })),
      };
    },
  );
}

export function hoursBack(now: Date, count = HOURS): string[] {
  const present = Math.floor(now.getTime() / HOUR_MS);
  return Array.from({ length: count }, (_, n) => new Date((present - n) * HOUR_MS).toISOString());
}

export function hourFiguresOf(bucket: Bucket | undefined): z.output<typeof HourFigures> | null {
  return bucket ? figuresIn(bucket) : null;
}

function figuresIn({
  received,
  finished,
  failed,
  timedOut,
  byClass,
  durationMs,
}: Bucket): z.output<typeof HourFigures> {
  const ended = finished + failed;
  const averageDurationMs = ended === 0 ? null : Math.round(durationMs / ended);
  return { received, finished, failed, timedOut, byClass, averageDurationMs };
}
