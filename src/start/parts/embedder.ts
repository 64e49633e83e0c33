import type { Config } from '../../config.js';
import type { Embedder, OpenEmbedder } from '../../ports/embedder.js';

/** The embedder of the settings. A failure to open it is not kept, so the next use tries again. */
export function createOpenEmbedder(config: Pick<Config, 'embedder'>): OpenEmbedder {
  let opened: Promise<Embedder> | undefined;
  return () => {
    opened ??= open(config).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

/** Only the adapter that is used is loaded. */
async function open({ embedder }: Pick<Config, 'embedder'>): Promise<Embedder> {
  if (embedder === null) {
    const { createLocalEmbedder } = await import('../../adapters/embedder-local.js');
    return createLocalEmbedder();
  }
  const { openOpenAICompatibleEmbedder } = await import('../../adapters/embedder-openai-compatible.js');
  return openOpenAICompatibleEmbedder(embedder);
}
