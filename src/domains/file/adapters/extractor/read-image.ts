import type { ReadContent } from './read-content.js';
import { imageSizeOf } from './image-size.js';
import { isReadable, openRecognizer } from './recognize-text.js';
import { refuse } from './refuse.js';

/** The size always, and the text if there is any that can be read. */
export async function readImage(bytes: Buffer, format: string): Promise<ReadContent> {
  const size = imageSizeOf(format, bytes);
  if (!size) throw refuse('The picture is damaged. Open it, save it again and upload it.');
  if (!isReadable(size)) return { format, parts: [], ...size };
  const recognizer = await openRecognizer();
  try {
    const text = await recognizer.read(bytes);
    const isRecognized = text !== '';
    return { format, parts: isRecognized ? [{ kind: 'text', text }] : [], ...size, isRecognized };
  } finally {
    await recognizer.close();
  }
}
