import { z } from 'zod';
import { diagnose } from '../../../core/diagnosis.js';
import { AppError } from '../../../core/errors.js';
import type { LiveLook } from '../core/public-next.js';
import type { Rejection } from '../core/verdict/rejection.js';
import { publicStatusOf } from '../core/verdict/submission-status.js';
import { findItemView } from '../../../db/reads/item-view.js';
import { findStatus } from '../db/submission-status.js';
import type { ApiParts, App } from '../../../api/parts.js';
import { askAbout, type ReaderDeps } from '../../../api/items/item-reader.js';
import { openProblems } from '../../../api/http/problem.js';
import { addStatusEventRoute } from '../../../api/items/status-events.js';
import type { StatusLinks } from '../../../api/items/status-links.js';
import { type Silence, silenceOf } from '../../../core/staleness.js';
import { STATUS_LINKS } from './status-links.js';

/** Why a submission was not published. Also a part of the answer that its owner gets signed in. */
export const RejectionAnswer = z
  .object({
    summary: z.string(),
    reasons: z.array(
      z.object({
        why: z.string(),
        file: z.string().nullable().describe("In the skill's folder"),
        line: z.int().nullable().describe('From 1'),
        field: z.string().nullable().describe('The part of the submission that it is about, such as repoUrl'),
        remedy: z.string().describe('What to do about it'),
      }),
    ),
    more: z.int().describe('How many more reasons there are'),
  })
  .meta({ id: 'Rejection', description: 'Why a submission was not published, where, and what to do about it' });

export function rejectionAnswer({ summary, reasons, more }: Rejection): z.output<typeof RejectionAnswer> {
  return { summary, reasons: [...reasons], more };
}

const StatusAnswer = z.object({
  id: z.uuid(),
  skillName: z.string(),
  state: z.string(),
  submittedAt: z.iso.datetime(),
  movedAt: z.iso.datetime().describe('When it came into its state'),
  why: RejectionAnswer.nullable().describe('Null: it was not rejected'),
  staleness: z
    .object({
      stale: z.boolean(),
      since: z.iso.datetime().describe('Its last sign of life'),
      staleAt: z.iso.datetime().describe('It is stale from then on, unless it gives a sign of life before'),
    })
    .nullable()
    .describe('Null: it has ended, is paused, or waits for a person or a time, so its silence is expected'),
  nextAction: z.string().describe('What happens next, or what it waits for, and whether there is anything to do'),
});

type StatusAnswer = z.output<typeof StatusAnswer>;

type StatusDeps = ApiParts & { links: StatusLinks };

/** The page of a status link, and its events. They show the status of one submission to anybody who has the link, and
 *  nothing more. */
export function addStatusRoutes(app: App, { links, ...deps }: StatusDeps): void {
  app.get(
    '/api/v1/status/:token',
    {
      config: { access: 'open' },
      schema: {
        tags: ['submissions'],
        summary: 'Where a submission is: for anybody with its link',
        params: z.object({ token: z.string().max(200) }),
        response: { 200: StatusAnswer, ...openProblems(404) },
      },
    },
    async ({ params }, reply) => {
      const id = links.itemIn(params.token);
      const status = id === null ? null : await statusOf(deps, id);
      if (!status) throw noSuchLink();
      void reply.header('Cache-Control', 'no-store').header('X-Robots-Tag', 'noindex');
      return status;
    },
  );

  addStatusEventRoute(app, deps, {
    path: STATUS_LINKS.path,
    tag: 'submissions',
    summary: 'What happens to a submission, as it happens: for anybody with its link',
    async itemOf(token) {
      const id = links.itemIn(token);
      if (id === null || !(await findStatus(deps.pool, id))) throw noSuchLink();
      return id;
    },
    statusOf: (id) => statusOf(deps, id),
  });
}

/** The token is not repeated, because a reader of the logs could follow the link. */
function noSuchLink(): AppError {
  return new AppError('not_found', 'this link leads to no submission');
}

/** Null: there is no such submission. */
async function statusOf(deps: ReaderDeps, id: string): Promise<StatusAnswer | null> {
  const status = await findStatus(deps.pool, id);
  if (!status) return null;
  const live = status.isEnded ? null : await lookAt(deps, id);
  const { state, rejection, nextAction } = publicStatusOf(status, live);
  return {
    id,
    skillName: status.skillName,
    state,
    submittedAt: status.createdAt.toISOString(),
    movedAt: status.movedAt.toISOString(),
    why: rejection && rejectionAnswer(rejection),
    staleness: live && stalenessAnswer(live.silence, live.now),
    nextAction,
  };
}

function stalenessAnswer(silence: Silence | null, now: Date): StatusAnswer['staleness'] {
  if (!silence) return null;
  const { since, staleAt } = silence;
  return { stale: now >= staleAt, since: since.toISOString(), staleAt: staleAt.toISOString() };
}

/** The diagnosis of the submission, made in the same way as for its owner. Null: the submission has been deleted
 *  meanwhile. */
async function lookAt(deps: ReaderDeps, id: string): Promise<(LiveLook & { silence: Silence | null }) | null> {
  const [view, isEngineThere] = await Promise.all([findItemView(deps.prisma, id), deps.engineHealth.isThere()]);
  if (!view) return null;
  const { item, now } = view;
  const said = await askAbout(deps, view, isEngineThere);
  const facts = { ...view, pipeline: deps.pipelines[item.pipeline], ...said };
  const diagnosis = diagnose(facts);
  const silence = silenceOf(facts, diagnosis);
  return { state: item.state, diagnosis, now, isUnswept: said.unswept !== undefined, silence };
}
