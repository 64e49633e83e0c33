import { z } from 'zod';
import { diagnose } from '../../../core/diagnosis.js';
import { AppError } from '../../../core/errors.js';
import type { LiveLook } from '../core/public-next.js';
import type { Rejection } from '../core/verdict/rejection.js';
import { publicStatusOf } from '../core/verdict/submission-status.js';
import { findItemView } from '../../../db/reads/item-view.js';
import { findStatus } from '../db/submission-status.js';
import type { App } from '../../../api/parts.js';
import { askAbout, type ReaderDeps } from '../../../api/items/item-reader.js';
import { openProblems } from '../../../api/http/problem.js';
import type { StatusLinks } from '../../../api/items/status-links.js';

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
  nextAction: z.string().describe('What happens next, or what it waits for, and whether there is anything to do'),
});

/** The links of submissions. Links that people have were made with this very purpose. */
export const STATUS_LINKS = { purpose: 'unstuck: read the status of one submission, v1', path: '/api/v1/status' };

/** The page of a status link. It shows the status of one submission to anybody who has the link, and nothing more. */
export function addStatusRoute(app: App, { links, ...deps }: ReaderDeps & { links: StatusLinks }): void {
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
      const status = id === null ? null : await findStatus(deps.pool, id);
      // The token is not repeated, because a reader of the logs could follow the link.
      if (!status) throw new AppError('not_found', 'this link leads to no submission');
      const live = status.isEnded ? null : await lookAt(deps, status.id);
      const { state, rejection, nextAction } = publicStatusOf(status, live);
      void reply.header('Cache-Control', 'no-store').header('X-Robots-Tag', 'noindex');
      return {
        id: status.id,
        skillName: status.skillName,
        state,
        submittedAt: status.createdAt.toISOString(),
        movedAt: status.movedAt.toISOString(),
        why: rejection && rejectionAnswer(rejection),
        nextAction,
      };
    },
  );
}

/** The diagnosis of the submission, made in the same way as for its owner. Null: the submission has been deleted
 *  meanwhile. */
async function lookAt(deps: ReaderDeps, id: string): Promise<LiveLook | null> {
  const [view, isEngineThere] = await Promise.all([findItemView(deps.prisma, id), deps.engineHealth.isThere()]);
  if (!view) return null;
  const { item, now } = view;
  const said = await askAbout(deps, view, isEngineThere);
  const diagnosis = diagnose({ ...view, pipeline: deps.pipelines[item.pipeline], ...said });
  return { state: item.state, diagnosis, now, isUnswept: said.unswept !== undefined };
}
