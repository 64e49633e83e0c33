import type { Notice, Notifier } from '../ports/notifier.js';
import { createPostJson, type PostOptions } from './post-json.js';

/** Slack cuts longer texts; so do those that took over its format. */
const MAX_CHARACTERS = 3_000;

/** An incoming webhook of Slack, Mattermost, Rocket.Chat … It is the operators' room: owners are not told there. */
export function createSlackNotifier(options: PostOptions): Notifier {
  const post = createPostJson(options);
  return {
    reaches: ({ owner, mailTo }) => owner === null && mailTo === null,
    deliver: (notice, signal) => post(JSON.stringify({ text: textOf(notice) }), {}, signal),
  };
}

function textOf({ kind, pipeline, itemId, sentence }: Notice): string {
  const about = [pipeline, itemId].filter((part) => part !== null).join(' ');
  const said = sentence.slice(0, MAX_CHARACTERS);
  return escaped(`*${kind.replaceAll('_', ' ')}*${about && ` (${about})`}: ${said}`);
}

/** Slack's own rule. Unescaped, a sentence with <!channel> in it would wake everybody. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
