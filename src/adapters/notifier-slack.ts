import type { Notice, Notifier } from '../ports/notifier.js';
import { createPostJson, type PostOptions } from './post-json.js';

/** Slack cuts longer texts, and so do the products that took over its format. */
const MAX_CHARACTERS = 3_000;

/** An incoming webhook of Slack, Mattermost, Rocket.Chat … The room belongs to the operators, so owners get nothing
 *  through it. */
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
  return escapeForSlack(`*${kind.replaceAll('_', ' ')}*${about && ` (${about})`}: ${said}`);
}

/** Slack's own rule. An unescaped <!channel> in a sentence would wake everybody. */
function escapeForSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
