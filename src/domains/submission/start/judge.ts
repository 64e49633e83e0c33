import { createRulesJudge } from '../adapters/judge/judge-rules.js';
import type { Config } from '../../../config.js';
import type { Judge } from '../ports/judge.js';

/** The judge that is configured; a model's SDK is loaded only where there is a model. */
export async function judgeOf({ judge }: Pick<Config, 'judge'>): Promise<Judge> {
  switch (judge?.provider) {
    case undefined:
      return createRulesJudge();
    case 'anthropic': {
      const { createAnthropicJudge } = await import('../../../adapters/judge-anthropic.js');
      return createAnthropicJudge(judge);
    }
    case 'openai-compatible': {
      const { createOpenAICompatibleJudge } = await import('../../../adapters/model-openai-compatible.js');
      return createOpenAICompatibleJudge(judge);
    }
  }
}
