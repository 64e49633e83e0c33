import { z } from 'zod';
import { publicationOf } from '../../core/verdict/submission-status.js';
import type { FollowedSubmission } from './follow.js';

/** 0: the skill is published. 1: the skill is refused. 2: a person decides. */
export function exitCodeOf({ published, decision }: FollowedSubmission): 0 | 1 | 2 {
  if (published) return 0;
  return decision ? 2 : 1;
}

/** The verdict, and for a refused skill every reason with its file, line and remedy. */
export function verdictOf(seen: FollowedSubmission): string[] {
  const { id, published, judgement, why, state } = seen;
  const judged = judgement ? `; ${judgement.score} of 100 points by ${judgement.model}` : '';
  if (published) return [`${endOf(seen, published)}${judged}.`];
  if (!why) {
    return [
      `It is in ${state}${judged}. ${seen.nextAction}`,
      ...concernsOf(seen).map((text) => `  ${text}`),
      ...(seen.decision ? [`A reviewer decides: npm run review -- approve ${id}`] : []),
    ];
  }
  return [
    `Not published: ${why.summary}`,
    ...why.reasons.flatMap(({ why: what, file, line, remedy }) => [
      `  ${file === null ? '' : `${file}${line === null ? '' : `:${line}`}  `}${what}`,
      `    → ${remedy}`,
    ]),
    ...(why.more > 0 ? [`  … and ${why.more} more.`] : []),
    seen.nextAction,
  ];
}

const Concerned = z.object({ concerns: z.array(z.string()) });

/** The move to a person names all concerns; the judgement names only its own. */
function concernsOf({ history, judgement }: FollowedSubmission): string[] {
  const told = Concerned.safeParse(history.at(-1)?.metadata);
  return told.success ? told.data.concerns : (judgement?.concerns ?? []).map(({ text }) => text);
}

const Unchanged = z.object({ unchanged: z.literal(true) });

function endOf(
  { skillName, history }: FollowedSubmission,
  published: NonNullable<FollowedSubmission['published']>,
): string {
  const isUnchanged = history.some(({ metadata }) => Unchanged.safeParse(metadata).success);
  if (isUnchanged) return `Nothing has changed: ${published.name} ${published.version} has this content already`;
  return publicationOf(skillName, published).replace('published', 'Published');
}

/** For scripts. */
export function submissionFiguresOf(seen: FollowedSubmission): Record<string, unknown> {
  const { id, state, published, judgement } = seen;
  return {
    id,
    state,
    version: published?.version ?? null,
    score: judgement?.score ?? null,
    model: judgement?.model ?? null,
  };
}
