import { partsOfBlocks } from './blocks-to-parts.js';
import type { OpenedZip } from './open-zip.js';
import { OPEN_DOCUMENT, readBlocks } from './read-blocks.js';
import type { ReadContent } from './read-content.js';

/** The text of a document of LibreOffice: all of it is in two parts. */
export async function readOpenDocument(zip: OpenedZip, format: string): Promise<ReadContent> {
  const body = readBlocks(await zip.read('content.xml'), OPEN_DOCUMENT);
  // Headers and footers.
  const around = zip.has('styles.xml') ? readBlocks(await zip.read('styles.xml'), OPEN_DOCUMENT) : [];
  return { format, parts: partsOfBlocks([...body, ...around], (block) => ('rows' in block ? undefined : block.level)) };
}
