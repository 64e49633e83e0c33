import type { Stages } from '../../../ports/stage.js';
import type { StageParts } from '../../../start/parts/domain.js';
import { chunkStage } from '../activities/chunk.js';
import { embedStage } from '../activities/embed.js';
import { extractStage } from '../activities/extract.js';
import type { FileSettings } from '../settings.js';
import type { file } from '../table.js';
import { openExtractor } from './extractor.js';

export function createFileStages(
  { reads, blobs, embedder }: StageParts,
  { extractor: settings }: FileSettings,
): Stages<typeof file> {
  const { extractor, withContent } = openExtractor(settings);
  return {
    extract: extractStage({ reads, blobs, extractor, withContent }),
    chunk: chunkStage({ reads, extractor }),
    embed: embedStage({ reads, embedder }),
  };
}
