import { createExtractor } from '../adapters/extractor/extractor.js';
import { createWithContent } from '../adapters/extractor/with-content.js';
import type { FileSettings } from '../settings.js';

/** What the stages extract and chunk need besides the database and the blobs. Its processes start with the first file, and end with
 *  this process. */
export function openExtractor(settings: FileSettings['extractor']) {
  return { extractor: createExtractor(settings), withContent: createWithContent(settings.temporaryFolder) };
}
