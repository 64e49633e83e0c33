import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { saying } from '../../../adapters/model-server.js';
import { answerOf } from '../adapters/judge/judge-server.js';

/** An OpenAI-compatible model that is well, down or silent, by the skill that it is shown. */
export interface MoodyJudge {
  url: string;
  /** Answers 503 whenever it is shown this skill. */
  isDownFor(skillName: string): void;
  /** Says nothing when it is shown this skill, until it is let speak. */
  isSilentFor(skillName: string): void;
  letSpeak(skillName: string): void;
  close(): Promise<void>;
}

/** Finds no fault in anything. */
const praise = saying(
  JSON.stringify({
    id: 'x',
    model: 'moody',
    choices: [{ index: 0, message: { role: 'assistant', content: JSON.stringify(answerOf()) }, finish_reason: 'stop' }],
  }),
);

export async function startMoodyJudge(): Promise<MoodyJudge> {
  const down = new Set<string>();
  const silent = new Map<string, ServerResponse[]>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await text(request);
    if ([...down].some((name) => asked.includes(name))) return saying('{}', 503)(response);
    const [, held] = [...silent].find(([name]) => asked.includes(name)) ?? [];
    if (held) held.push(response);
    else praise(response);
  }
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1`,
    isDownFor: (name) => void down.add(name),
    isSilentFor: (name) => void silent.set(name, []),
    letSpeak(name) {
      const held = silent.get(name) ?? [];
      silent.delete(name);
      for (const response of held) if (!response.destroyed) praise(response);
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
