import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { ImageSize } from './image-size.js';

const require = createRequire(import.meta.url);

/** A page of A4 at 600 dots an inch has 35 million pixels. A larger picture takes more memory than its text is worth. */
const MAX_PIXELS = 40_000_000;

/** A letter is higher than this, so there is nothing to read in a smaller picture. */
const MIN_SIDE = 8;

export interface Recognizer {
  /** The text of a picture; '' where there is none, and where the engine cannot read the picture. */
  read(picture: Buffer): Promise<string>;
  close(): Promise<void>;
}

export function isReadable({ width, height }: ImageSize): boolean {
  return width * height <= MAX_PIXELS && Math.min(width, height) >= MIN_SIDE;
}

/** Reads printed text in Latin letters. The engine and its model come from the installed packages: nothing is fetched and nothing is
 *  written. It is opened for each content anew, so that no content leaves anything behind in it. */
export async function openRecognizer(): Promise<Recognizer> {
  const { createWorker, OEM } = await import('tesseract.js');
  const model = dirname(require.resolve('@tesseract.js-data/eng/package.json'));
  let tellFailure: (reason: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (tellFailure = reject));
  // The failure is looked at where a picture is read.
  failed.catch(() => undefined);
  const engine = await createWorker('eng', OEM.LSTM_ONLY, {
    langPath: `${model}/4.0.0_best_int`,
    gzip: true,
    cacheMethod: 'none',
    // Without a listener the engine throws where nobody can catch it. The call itself fails as well.
    errorHandler: () => undefined,
  });
  const { worker } = engine as unknown as { worker: NodeJS.EventEmitter };
  worker.on('error', tellFailure);

  return {
    async read(picture) {
      try {
        const { data } = await Promise.race([engine.recognize(picture), failed]);
        return data.confidence >= LEAST_CONFIDENCE ? data.text.trim() : '';
      } catch {
        return ''; // a picture in a form that the engine does not know
      }
    },
    async close() {
      await engine.terminate();
    },
  };
}

/** In a photograph the engine sees letters that are not there, and is not sure of them. */
const LEAST_CONFIDENCE = 30;
