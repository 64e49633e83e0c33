import { messageOf } from '../../../core/errors.js';
import { type Check, type Finding, type Patient, reportOk, reportProblem } from '../../../start/doctor/check.js';
import { settingsOf } from '../../../start/parts/domain.js';
import { fileSettings } from '../settings.js';
import { tinyPdf, tinyPicture } from './tiny-contents.js';

/** A process starts in a second and loads the engine that reads pictures in two more. A loaded machine takes several times as long. */
const LIMIT_MS = 60_000;

export const extractorCheck: Check = { name: 'extractor', limitMs: LIMIT_MS, run: checkExtractor };

/** Reads a PDF and a picture on this machine. A worker on another machine has its own processes. */
async function checkExtractor({ config }: Patient): Promise<Finding> {
  const { openExtractor } = await import('./extractor.js');
  const { Readable } = await import('node:stream');
  const settings = settingsOf(config, { name: 'file', settings: fileSettings });
  const { extractor, withContent } = openExtractor(settings.extractor);
  const { signal } = new AbortController();
  try {
    const formats: string[] = [];
    for (const content of [tinyPdf(), tinyPicture()]) {
      const given = { name: 'check', sizeBytes: content.length, sha256: null, bytes: Readable.from([content]), signal };
      const read = await withContent(given, (found) => extractor.extract(found, signal, () => undefined));
      formats.push(read.format);
    }
    return reportOk(`Workers on this machine read files: ${formats.join(' and ')} were read.`);
  } catch (error) {
    return reportProblem(
      `A file could not be read: ${messageOf(error)}.`,
      'Run `npm ci` again, and see whether FILE_EXTRACT_TEMP_DIR can be written and the machine has FILE_EXTRACT_MEMORY_MB free.',
    );
  } finally {
    extractor.close();
  }
}
