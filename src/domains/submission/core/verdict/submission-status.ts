import { type LiveLook, publicNextOf } from '../public-next.js';
import { type Ended, type Rejection, whyEnded } from './rejection.js';

/** What a submission's owner is told: where it is, why it was not published, and what happens next. */
export interface Told {
  state: string;
  /** Null: it was not rejected. */
  rejection: Rejection | null;
  nextAction: string;
}

export interface Standing {
  state: string;
  /** As it was submitted. */
  skillName: string;
  isEnded: boolean;
  /** What brought it where it is. */
  end: Ended;
  /** Null: it is not published. */
  published: { name: string; version: string } | null;
}

/** Of one that goes on, what comes next is told where somebody has looked why it is where it is. */
export function toldOf(standing: Standing, live: LiveLook | null = null): Told {
  const { state, skillName, published } = standing;
  if (published) return { state, rejection: null, nextAction: `It is ${publicationOf(skillName, published)}.` };
  if (standing.isEnded && state !== 'PUBLISHED') {
    const rejection = whyEnded(standing.end);
    return { state, rejection, nextAction: rejection.nextAction };
  }
  return { state, rejection: null, nextAction: nextOf(standing, live) };
}

/** Two repositories may have skills of one name: the second is published with its owner's behind it, and its own owner looks for
 *  the name that was given. */
export function publicationOf(skillName: string, { name, version }: { name: string; version: string }): string {
  const isRenamed = name.toLowerCase() !== skillName.toLowerCase();
  const because = isRenamed ? `, because a skill of another repository has the name ${skillName}` : '';
  return `published as ${name} ${version}${because}`;
}

function nextOf({ isEnded }: Standing, live: LiveLook | null): string {
  if (isEnded) return 'It is published.';
  return live ? publicNextOf(live) : 'It is on its way.';
}

/** Characters of a letter: fifty reasons in few words, or a handful in many. */
const MAX_LETTER = 20_000;

/** The verdict as a letter, in plain text. */
export function letterOf(skillName: string, told: Told, statusUrl: string | null): { subject: string; text: string } {
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
        ...(rejection.more > 0 ? ['', `… and ${String(rejection.more)} more like these.`] : []),
        '',
        nextAction,
      ]
    : [nextAction];
  const letter = lines.join('\n');
  const cut = letter.length > MAX_LETTER ? `${letter.slice(0, MAX_LETTER)}\n…` : letter;
  return { subject: `${skillName} ${verdict}`, text: statusUrl === null ? cut : `${cut}\n\n${statusUrl}` };
}

function whereOf({ file, line, field }: Rejection['reasons'][number]): string[] {
  if (file !== null) return [`  Where: ${file}${line === null ? '' : `, line ${String(line)}`}`];
  return field === null ? [] : [`  Where: ${field} of the submission`];
}
