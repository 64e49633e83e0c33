import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';
import { z } from 'zod';
import { serveParent } from '../../../../adapters/serve-parent.js';
import { splitParts } from '../../core/split/split-parts.js';
import { parts } from './answer-schema.js';
import { readContent } from './read-content.js';

/** The part of the time limit in which pictures of pages are read. The rest is for the page that is read at its end. */
const RECOGNIZING = 0.7;

const asked = z.discriminatedUnion('do', [
  z.object({ do: z.literal('extract'), path: z.string(), name: z.string(), timeoutMs: z.number() }),
  z.object({ do: z.literal('split'), parts }),
]);

/** cl100k_base is the encoding of the usual embedding models, so a chunk has as many tokens there as here. Words that mean something to
 *  a model's maker are words like others in a file. */
function tokensIn(text: string): number {
  return countTokens(text, { disallowedSpecial: new Set() });
}

/** The process that reads files. */
await serveParent({
  async answer(question, tell) {
    const task = asked.parse(question);
    if (task.do === 'split') return splitParts(task.parts, tokensIn);
    const recognizeUntil = performance.now() + task.timeoutMs * RECOGNIZING;
    return readContent(task, { recognizeUntil }, tell);
  },
  warm: () => Promise.resolve(tokensIn('warm')),
});
