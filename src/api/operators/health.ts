import { z } from 'zod';
import { AppError } from '../../core/errors.js';
import { listOpenBreakers } from '../../db/reads/breaker-list.js';
import { WORKER_SILENT_SECONDS } from '../../core/worker-silence.js';
import { readWorkersSeen } from '../../db/reads/figures.js';
import type { ApiDeps, App } from '../parts.js';
import { type EngineHealth, giveUpAfter } from '../items/engine-health.js';
import { problemResponse } from '../http/problem.js';

const Part = z.object({ status: z.enum(['ok', 'away', 'unknown']), detail: z.string() });
type Part = z.output<typeof Part>;

const Health = z.object({
  status: z.enum(['ok', 'degraded']),
  parts: z.object({
    requests: Part,
    postgres: Part,
    temporal: Part,
    dispatcher: Part,
    watcher: Part,
    workers: Part,
    breakers: Part,
    sweeps: Part,
  }),
  remarks: z.array(z.string()).describe('What operators should know of the settings; it changes no status'),
});

/** Below the limit of the checker that asks, usually 5 s, and long enough that a busy machine is not taken for a dead
 *  database. */
const PATIENCE_MS = 4_000;

/** A turn of these loops takes half a second, and some seconds while Temporal does not answer. */
const LOOP_LATE_MS = 30_000;

type Deps = Pick<ApiDeps, 'prisma' | 'dispatcher' | 'watcher' | 'sweeps' | 'leaving' | 'remarks'> & {
  engineHealth: EngineHealth;
};

export function addHealthRoutes(app: App, deps: Deps): void {
  const tags = ['operation'];
  app.get(
    '/health/live',
    {
      config: { access: 'open', isHealth: true },
      schema: { tags, summary: 'The process answers', response: { 200: z.object({ status: z.literal('ok') }) } },
    },
    () => ({ status: 'ok' as const }),
  );

  app.get(
    '/health/ready',
    {
      config: { access: 'open', isHealth: true },
      schema: {
        tags,
        summary: 'Whether requests are served, and what is degraded',
        response: { 200: Health, 503: problemResponse(503) },
      },
    },
    async () => {
      if (deps.leaving?.aborted) throw new AppError('leaving', 'this process is being stopped; ask another one');
      const [workers, temporal, breakers, sweeps] = await Promise.all([
        workersOf(deps),
        temporalOf(deps.engineHealth),
        breakersOf(deps),
        sweepsOf(deps.sweeps),
      ]);
      const parts = {
        requests: requestsOf(app),
        temporal,
        dispatcher: loopOf('dispatcher', dutyOf(deps.dispatcher), deps.dispatcher),
        watcher: loopOf('watcher', 'looked for dead workers', deps.watcher),
        workers: workers ?? UNKNOWN_WORKERS,
        breakers,
        sweeps,
      };
      if (!workers) {
        throw new AppError('database_unavailable', 'the database does not answer', {
          facts: { parts: { postgres: sayAway('Postgres does not answer.'), ...parts } },
        });
      }
      const isDegraded = Object.values(parts).some((part) => part.status === 'away');
      return {
        status: isDegraded ? ('degraded' as const) : ('ok' as const),
        parts: { postgres: sayOk('Postgres answers.'), ...parts },
        remarks: [...deps.remarks],
      };
    },
  );
}

/** A process that sheds requests is not ready for them, and `npm start` must not announce it yet. Degraded and not down: a
 *  proxy that took every busy process out would leave none. */
function requestsOf(app: App): Part {
  if (!app.isUnderPressure()) return sayOk('Requests are served.');
  return sayAway('This process is late and sheds requests; they are to be tried again.');
}

const UNKNOWN_WORKERS = sayUnknown('Postgres, which knows the workers, does not answer.');

/** Null: Postgres does not answer. */
async function workersOf({ prisma }: Deps): Promise<Part | null> {
  const seen = await giveUpAfter(PATIENCE_MS, readWorkersSeen(prisma)).catch(() => null);
  if (!seen) return null;
  const { registered, present } = seen;
  if (present > 0) return sayOk(`${present} ${present === 1 ? 'worker is' : 'workers are'} there.`);
  if (registered === 0) return sayAway('No worker has ever registered; what is submitted waits.');
  return sayAway(`No worker was seen in the last ${WORKER_SILENT_SECONDS} s; what is submitted waits.`);
}

async function temporalOf(engineHealth: EngineHealth): Promise<Part> {
  if (await engineHealth.isThere()) return sayOk('Temporal answers.');
  return sayAway('Temporal does not answer; reads work, and what is submitted starts when it is back.');
}

/** An open breaker is no fault of this service: requests are served, and items wait for the service that is down. */
async function breakersOf({ prisma }: Deps): Promise<Part> {
  const open = await giveUpAfter(PATIENCE_MS, listOpenBreakers(prisma)).catch(() => null);
  if (!open) return sayUnknown('Postgres, which knows the breakers, does not answer.');
  if (open.length === 0) return sayOk('Nothing is held back.');
  return sayAway(
    open.map((each) => `${each.pipeline} is held since ${each.openedAt.toISOString()}: ${each.reason}.`).join(' '),
  );
}

/** The duty of the dispatcher that is furthest behind: starts, wakes or releases. */
function dutyOf(dispatcher: Deps['dispatcher']): string {
  return `looked for ${dispatcher?.slowestDuty?.() ?? 'work'}`;
}

function loopOf(name: string, did: string, loop: { lastTurnAt(): Date | null } | undefined): Part {
  const lastTurnAt = loop?.lastTurnAt();
  if (!lastTurnAt) return sayUnknown(`The ${name} has not ${did} yet.`);
  const lateMs = Date.now() - lastTurnAt.getTime();
  if (lateMs < LOOP_LATE_MS) return sayOk(`The ${name} has just ${did}.`);
  return sayAway(`The ${name} has not ${did} for ${Math.round(lateMs / 1_000)} s.`);
}

/** Operators must see that recovery has stopped before it is needed. */
async function sweepsOf(sweeps: Deps['sweeps']): Promise<Part> {
  if (!sweeps) return sayUnknown('Nobody watches the sweeps here.');
  const late = await giveUpAfter(PATIENCE_MS, sweeps.late()).catch(() => null);
  if (!late) return sayUnknown('Postgres, which knows when sweeps ended, does not answer.');
  if (late.length > 0) return sayAway(late.map(({ sentence }) => sentence).join(' '));
  return sayOk('No sweep is late.');
}

function sayOk(detail: string): Part {
  return { status: 'ok', detail };
}
function sayAway(detail: string): Part {
  return { status: 'away', detail };
}
function sayUnknown(detail: string): Part {
  return { status: 'unknown', detail };
}
