import { loadModel } from '../../../adapters/load-model.js';
import { createModelJudge } from '../adapters/judge/judge-model.js';
import { createRulesJudge } from '../adapters/judge/judge-rules.js';
import type { Judge } from '../ports/judge.js';
import type { SubmissionSettings } from '../settings.js';

/** The configured judge: a model, or the built-in rules where no model is configured. */
export async function createConfiguredJudge({
  judge,
  thresholds,
}: Pick<SubmissionSettings, 'judge' | 'thresholds'>): Promise<Judge> {
  if (judge === null) return createRulesJudge(thresholds);
  const model = await loadModel(judge, { role: 'judge', content: 'skill', variables: 'JUDGE' });
  return createModelJudge(model, { timeoutMs: judge.timeoutMs, thresholds });
}
