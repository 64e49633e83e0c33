import { LLMock } from '@copilotkit/aimock';
import { BEST_MARK, CRITERIA } from '../../../../../src/domains/submission/core/judgement/judgement.js';

/** The answer of a model that finds no fault in anything. */
export function answerOf(given: { concerns?: unknown[]; marks?: Record<string, unknown> } = {}): object {
  const best = Object.fromEntries(CRITERIA.map((name) => [name, BEST_MARK]));
  return { concerns: given.concerns ?? [], marks: { ...best, ...given.marks } };
}

/** A mock of the real services, whose model gives full marks to every skill. */
export async function startGenerousModel(): Promise<{ url: string; close(): Promise<void> }> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1' });
  mock.onMessage(/[^]*/, { content: JSON.stringify(answerOf()) });
  await mock.start();
  return { url: `${mock.url}/v1`, close: () => mock.stop() };
}
