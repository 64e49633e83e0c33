import { z } from 'zod';
import type { Letter, WriteLetter } from '../../../ports/notifier.js';

const Warned = z.object({ fileName: z.string(), deletionDate: z.string() });
const Failed = z.object({ fileName: z.string(), reason: z.string() });

/** What an owner can do, by the reasons that are words and no sentences. */
const SENTENCES: Readonly<Record<string, string>> = {
  STUCK_EXHAUSTED: 'It stopped again and again, and the maximum number of retries is exceeded.',
  POISON: 'Each process that worked on it died.',
};

/** The letter to the owner of a file that failed, or that is soon deleted. All facts are in the notice, because the file may be gone
 *  when the letter is sent. */
export function createFileLetter(): WriteLetter {
  return async (_sql, itemId, { kind, payload }) => {
    if (kind === 'deletion_warned') return warningOf(itemId, Warned.safeParse(payload).data);
    return kind === 'item_ended' ? failureOf(itemId, Failed.safeParse(payload).data) : null;
  };
}

function warningOf(id: string, told: z.output<typeof Warned> | undefined): Letter | null {
  if (!told) return null;
  const { fileName, deletionDate } = told;
  const day = deletionDate.slice(0, 'YYYY-MM-DD'.length);
  return {
    subject: `${fileName} will be deleted on ${day}`,
    text: [
      `Your file ${fileName} could not be processed, and will be deleted after ${deletionDate}.`,
      'To keep it, retry it before then; if it fails again, it is kept for as long once more.',
      `The file's id is ${id}.`,
    ].join('\n\n'),
  };
}

function failureOf(id: string, told: z.output<typeof Failed> | undefined): Letter | null {
  if (!told) return null;
  const { fileName, reason } = told;
  return {
    subject: `${fileName} could not be processed`,
    text: [
      `Your file ${fileName} could not be processed.`,
      SENTENCES[reason] ?? `The reason: ${reason}`,
      'You can retry it, or upload it again. You are told before it is deleted.',
      `The file's id is ${id}.`,
    ].join('\n\n'),
  };
}
