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
  isEnded: boolean;
  isPaused: boolean;
  isParked: boolean;
  /** What brought it where it is. */
  end: Ended;
  /** Null: it is not published. */
  published: { name: string; version: string } | null;
}

/** What happens in the states that go on by themselves, or with somebody else's help. */
const NEXT: Readonly<Record<string, string>> = {
  RECEIVED: 'It is taken up in a moment; there is nothing to do.',
  VENDOR_APPROVED: 'It is from a trusted organisation and is being published; there is nothing to do.',
  TIER1_SCANNING: 'It is being fetched and scanned; there is nothing to do.',
  TIER2_SCANNING: 'It is being judged; there is nothing to do.',
  AUTO_APPROVED: 'It is approved and being published; there is nothing to do.',
  NEEDS_REVIEW: 'A person looks at it next; there is nothing to do.',
  TIER3_REVIEW: 'A reviewer decides on it next; there is nothing to do.',
};

export function toldOf(standing: Standing): Told {
  const { state, published } = standing;
  if (published)
    return { state, rejection: null, nextAction: `It is published as ${published.name} ${published.version}.` };
  if (standing.isEnded && state !== 'PUBLISHED') {
    const rejection = whyEnded(standing.end);
    return { state, rejection, nextAction: rejection.nextAction };
  }
  return { state, rejection: null, nextAction: nextOf(standing) };
}

function nextOf({ state, isEnded, isPaused, isParked }: Standing): string {
  if (isEnded) return 'It is published.';
  if (isParked) return 'It waits for an operator, who has been told; there is nothing to do.';
  if (isPaused) return 'It was paused by an operator and goes on afterwards; there is nothing to do.';
  return (Object.hasOwn(NEXT, state) && NEXT[state]) || 'It is being worked on; there is nothing to do.';
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
