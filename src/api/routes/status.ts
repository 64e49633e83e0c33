import { z } from 'zod';
import { AppError } from '../../core/errors.js';
import type { Rejection } from '../../core/rejection.js';
import { toldOf } from '../../core/submission-status.js';
import { findStatus } from '../../db/submission-status.js';
import type { ApiDeps, App } from '../app.js';
import { openProblems } from '../problem.js';
import type { StatusLinks } from '../status-links.js';

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
  state: z.string(),
  why: RejectionAnswer.nullable().describe('Null: it was not rejected'),
  nextAction: z.string(),
});

/** What the link of a submission shows to whoever has it, and nothing more. */
export function addStatusRoute(app: App, { pool, links }: Pick<ApiDeps, 'pool'> & { links: StatusLinks }): void {
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
      const status = id === null ? null : await findStatus(pool, id);
      // The token is not repeated: whoever reads logs could follow it.
      if (!status) throw new AppError('not_found', 'this link leads to no submission');
      const { state, rejection, nextAction } = toldOf(status);
      void reply.header('Cache-Control', 'no-store').header('X-Robots-Tag', 'noindex');
      return { id: status.id, state, why: rejection && rejectionAnswer(rejection), nextAction };
    },
  );
}
