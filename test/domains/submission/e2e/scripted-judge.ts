import { completionOf, saying } from '../../../adapters/model-server.js';
import { answerOf } from '../adapters/judge/judge-server.js';
import { startReceiver } from '../../../adapters/receiver.js';
import { CRITERIA } from '../../../../src/domains/submission/core/judgement/judgement.js';

/** A model on this machine that does not think: it gives every skill full marks, however bad. */
export interface ScriptedJudge {
  /** For an installation whose judge it is. */
  settings: Record<string, string>;
  /** The prompts that it was sent: the skill as data. */
  prompts(): string[];
  close(): Promise<void>;
}

/** Or the marks that the name of the skill asks for: `mark-7` is given 7 for everything, and so a score of 70. */
const ASKED_MARK = /name: mark-(\d+)/;

/** Or none at all: as if this skill were too long for it. */
const DECLINED = /name: declined/;

export async function startScriptedJudge(): Promise<ScriptedJudge> {
  const server = await startReceiver();
  const bodies = (): string[] => server.received.map(({ body }) => body);
  server.answer((response) => {
    if (DECLINED.test(bodies().at(-1) ?? ''))
      return saying('{"error": {"code": "context_length_exceeded"}}', 400)(response);
    const asked = ASKED_MARK.exec(bodies().at(-1) ?? '')?.[1];
    saying(completionOf(JSON.stringify(asked === undefined ? answerOf() : answerWith(Number(asked)))))(response);
  });
  return {
    settings: { JUDGE_PROVIDER: 'openai-compatible', JUDGE_URL: server.url, JUDGE_MODEL: 'scripted' },
    prompts: () => bodies().map(promptIn),
    close: () => server.close(),
  };
}

function answerWith(mark: number): object {
  const concern = { criterion: 'leastPrivilege', text: 'It could ask for less.', quote: null };
  return answerOf({
    marks: Object.fromEntries(CRITERIA.map((name) => [name, mark])),
    concerns: mark < 10 ? [concern] : [],
  });
}

function promptIn(body: string): string {
  const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
  const { content } = messages.findLast(({ role }) => role === 'user') ?? { content: '' };
  return typeof content === 'string' ? content : (content as { text: string }[]).map(({ text }) => text).join('\n');
}
