import { installationOf } from '../../../start/embedded/installation.js';
import { StartError } from '../../../start/embedded/start-error.js';
import { tokenFor } from '../../../start/parts/api-client.js';
import { settingsOf } from '../../../start/parts/domain.js';
import { loadConfig } from '../../../start/parts/from-domains.js';
import { type CommandEnd, runCommand } from '../../../start/parts/run-command.js';
import { fileSettings } from '../settings.js';
import { followUploads } from './upload/follow-uploads.js';
import { findLocalFiles, sha256OfFile } from './upload/local-files.js';
import { exitCodeOf, type Outcome, tableOf, uploadFiguresOf } from './upload/report.js';
import { createProgressDisplay, type ProgressDisplay } from './upload/show-progress.js';
import { createUploadApi, type ToUpload, type Upload, type UploadApi } from './upload/upload-api.js';
import { uploadFile } from './upload/upload-file.js';
import { uploadOptionsOf, USAGE } from './upload/upload-options.js';

/** As many files as the API registers at once. */
const BATCH = 500;

/** Files that are sent at once. A few hide the waits between them; more would only share the same line. */
const AT_ONCE = 4;

/** Uploads files to a running installation and follows each of them until it can be searched or has failed. */
async function upload(args: string[], say: (line: string) => void): Promise<CommandEnd> {
  const options = uploadOptionsOf(args);
  const config = loadConfig();
  const url = options.url ?? installationOf(config).apiUrl;
  const api = createUploadApi(url, tokenFor('upload', options.token, config));
  const { uploads: limits } = settingsOf(config, { name: 'file', settings: fileSettings });
  const { files, skipped } = await findLocalFiles(options.paths, limits);
  for (const sentence of skipped) say(sentence);
  if (files.length === 0) throw new StartError('upload: there is no file to upload under these paths.');
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const display = createProgressDisplay(process.stdout, totalBytes);
  const outcomes: Outcome[] = [];
  const uploads: Upload[] = [];
  for (let from = 0; from < files.length; from += BATCH) {
    const hashed: ToUpload[] = [];
    for (const file of files.slice(from, from + BATCH)) hashed.push({ ...file, sha256: await sha256OfFile(file.path) });
    const registered = await api.register(hashed);
    outcomes.push(...registered.refused.map(({ file, why }) => ({ ...outcomeOf(file), fileId: null, why })));
    const sent = await sendAll(api, registered.uploads, display);
    outcomes.push(...sent.failed);
    uploads.push(...sent.done);
  }
  outcomes.push(...(await followUploads(api, uploads, display)));
  display.end();
  return {
    lines: ['', ...tableOf(outcomes)],
    figures: uploadFiguresOf(outcomes, skipped.length),
    exitCode: exitCodeOf(outcomes),
  };
}

function outcomeOf({ name, sizeBytes }: ToUpload): Pick<Outcome, 'name' | 'sizeBytes' | 'state'> {
  return { name, sizeBytes, state: 'refused' };
}

async function sendAll(
  api: UploadApi,
  uploads: readonly Upload[],
  display: ProgressDisplay,
): Promise<{ done: Upload[]; failed: Outcome[] }> {
  const waiting = [...uploads];
  const done: Upload[] = [];
  const failed: Outcome[] = [];
  async function sendNext(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { file, fileId } = next;
      const why = await uploadFile(api, next, (bytes) => {
        display.sent(bytes);
      });
      display.say(`  ${why === null ? 'sent' : 'not sent'}${' '.repeat(why === null ? 7 : 3)}${file.name}`);
      if (why === null) done.push(next);
      else failed.push({ ...outcomeOf(file), fileId, why });
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendNext));
  return { done, failed };
}

await runCommand({ name: 'upload', usage: USAGE, run: upload });
