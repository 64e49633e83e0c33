import { messageOf } from '../../core/errors.js';
import { createOpenEmbedder } from '../parts/embedder.js';
import { type Check, type Finding, type Patient, reportOk, reportProblem } from './check.js';

/** The local model loads in two seconds, and in ten on a busy machine. A service may take as long as the settings allow it at most. */
const CHECKED_WITHIN_MS = 30_000;

/** Shorter than the limit of the check, so that this check words the finding. */
const ANSWER_WITHIN_MS = 25_000;

export const embedderChecks: readonly Check[] = [{ name: 'embedder', limitMs: CHECKED_WITHIN_MS, run: checkEmbedder }];

async function checkEmbedder({ config }: Pick<Patient, 'config'>): Promise<Finding> {
  const given = config.embedder && { ...config.embedder, timeoutMs: Math.min(config.embedder.timeoutMs, 12_000) };
  try {
    const embedder = await createOpenEmbedder({ embedder: given })();
    await embedder.embed(['Does the embedder answer?'], AbortSignal.timeout(ANSWER_WITHIN_MS));
    await embedder.close();
    const { model, dimension } = embedder;
    const where = given === null ? 'in this program' : `at ${new URL(given.url).host}`;
    return reportOk(`Texts are embedded by the model ${model} ${where}, in ${dimension} dimensions.`);
  } catch (error) {
    const remedy =
      given === null
        ? 'Install the packages again (npm ci), and see that the machine has 300 MB of memory free.'
        : 'Start that service, or correct EMBEDDER_URL, EMBEDDER_API_KEY, EMBEDDER_MODEL and EMBEDDER_DIMENSION.';
    return reportProblem(`No text can be embedded: ${messageOf(error)}.`, remedy);
  }
}
