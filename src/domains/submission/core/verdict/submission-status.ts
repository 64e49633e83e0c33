import { type LiveLook, publicNextOf } from '../public-next.js';
import { type Ended, type Rejection, rejectionOf } from './rejection.js';

/** The status for the owner of a submission: the state, the reasons of a rejection, and the next action. */
export interface PublicStatus {
  state: string;
  /** Null: the submission was not rejected. */
  rejection: Rejection | null;
  nextAction: string;
}

export interface Standing {
  state: string;
  /** The name as it was submitted. */
  skillName: string;
  isEnded: boolean;
  /** The facts of the last move. */
  end: Ended;
  /** Null: the submission is not published. */
  published: { name: string; version: string } | null;
}

/** `live` is the diagnosis of a submission that has not ended. Without it, nothing more is said than that the
 *  submission goes on. */
export function publicStatusOf(standing: Standing, live: LiveLook | null = null): PublicStatus {
  const { state, skillName, published } = standing;
  if (published) return { state, rejection: null, nextAction: `It is ${publicationOf(skillName, published)}.` };
  if (standing.isEnded && state !== 'PUBLISHED') {
    const rejection = rejectionOf(standing.end);
    return { state, rejection, nextAction: rejection.nextAction };
  }
  return { state, rejection: null, nextAction: nextOf(standing, live) };
}

/** Two repositories may have skills of the same name. The second is published under its name and its owner's. The
 *  sentence says so, because the submitter looks for the name that was submitted. */
export function publicationOf(skillName: string, { name, version }: { name: string; version: string }): string {
  const isRenamed = name.toLowerCase() !== skillName.toLowerCase();
  const because = isRenamed ? `, because a skill of another repository has the name ${skillName}` : '';
  return `published as ${name} ${version}${because}`;
}

function nextOf({ isEnded }: Standing, live: LiveLook | null): string {
  if (isEnded) return 'It is published.';
  return live ? publicNextOf(live) : 'It is on its way.';
}

/** The most characters of a letter: room for fifty short reasons, or a handful of long ones. */
const MAX_LETTER = 20_000;

/** The verdict as a letter, in plain text. */
export function letterOf(
  skillName: string,
  told: PublicStatus,
  statusUrl: string | null,
): { subject: string; text: string } {
  const { rejection, nextAction } = told;
  const verdict = rejection ? 'was not published' : 'is published';
  const lines = rejection
    ? [
        `${skillName} was not published. ${rejection.summary}`,
        ...rejection.reasons.flatMap((reason) => [
          '',
          `- ${reason.why}`,
          ...whereOf(reason),
          `  What to do: ${reason.remedy}`,
        ]),
        ...(rejection.more > 0 ? ['', `… and ${rejection.more} more like these.`] : []),
        '',
        nextAction,
      ]
    : [nextAction];
  const letter = lines.join('\n');
  const cut = letter.length > MAX_LETTER ? `${letter.slice(0, MAX_LETTER)}\n…` : letter;
  return { subject: `${skillName} ${verdict}`, text: statusUrl === null ? cut : `${cut}\n\n${statusUrl}` };
}

function whereOf({ file, line, field }: Rejection['reasons'][number]): string[] {
  if (file !== null) return [`  Where: ${file}${line === null ? '' : `, line ${line}`}`];
  return field === null ? [] : [`  Where: ${field} of the submission`];
}
