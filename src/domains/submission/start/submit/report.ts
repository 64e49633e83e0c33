import { z } from 'zod';
import { publicationOf } from '../../core/verdict/submission-status.js';
import type { Seen } from './follow.js';

/** 0: published; 1: it will not be; 2: a person decides. Whatever kept it from being submitted or followed is 3. */
export function exitCodeOf({ published, decision }: Seen): 0 | 1 | 2 {
  if (published) return 0;
  return decision ? 2 : 1;
}

export const EXIT_NOT_SUBMITTED = 3;

/** The verdict, with what stood in its way and where. */
export function verdictOf(seen: Seen): string[] {
  const { published, judgement, why, state } = seen;
  const judged = judgement ? `; ${String(judgement.score)} of 100 points by ${judgement.model}` : '';
  if (published) return [`${endOf(seen, published)}${judged}.`];
  const concerns = (judgement?.concerns ?? []).map(({ text }) => `  ${text}`);
  if (!why) return [`It is in ${state}${judged}. ${seen.nextAction}`, ...concerns];
  return [
    `Not published: ${why.summary}`,
    ...why.reasons.flatMap(({ why: what, file, line, remedy }) => [
      `  ${file === null ? '' : `${file}${line === null ? '' : `:${String(line)}`}  `}${what}`,
      `    → ${remedy}`,
    ]),
    ...(why.more > 0 ? [`  … and ${String(why.more)} more.`] : []),
    seen.nextAction,
  ];
}

const Unchanged = z.object({ unchanged: z.literal(true) });

function endOf({ skillName, history }: Seen, published: NonNullable<Seen['published']>): string {
  const isUnchanged = history.some(({ metadata }) => Unchanged.safeParse(metadata).success);
  if (isUnchanged) return `Nothing has changed: ${published.name} ${published.version} has this content already`;
  return publicationOf(skillName, published).replace('published', 'Published');
}

/** One line for scripts. */
export function figuresOf(seen: Seen): Record<string, unknown> {
  const { id, state, published, judgement } = seen;
  return {
    ok: published !== null,
    id,
    state,
    version: published?.version ?? null,
    score: judgement?.score ?? null,
    model: judgement?.model ?? null,
  };
}
