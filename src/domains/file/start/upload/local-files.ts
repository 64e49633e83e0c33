import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { StartError } from '../../../../start/embedded/start-error.js';
import { faultsOfFiles, type UploadLimits } from '../../core/check-upload.js';
import { typeByName } from '../../core/upload-types.js';

export interface LocalFile {
  path: string;
  name: string;
  mimeType: string;
  sizeBytes: number;
}

export interface Found {
  files: LocalFile[];
  /** A sentence for each file that is not sent. */
  skipped: string[];
}

/** The files under the paths that can be uploaded, in the order of their names. */
export async function findLocalFiles(paths: readonly string[], limits: UploadLimits): Promise<Found> {
  const found: Found = { files: [], skipped: [] };
  for (const path of paths) await addPath(found, path, limits);
  return found;
}

async function addPath(found: Found, path: string, limits: UploadLimits): Promise<void> {
  const facts = await stat(path).catch((cause: unknown) => {
    throw new StartError(`upload: there is no ${path}, or it can't be read.`, { cause });
  });
  if (facts.isDirectory()) await addFolder(found, path, limits);
  else if (facts.isFile()) addFile(found, path, facts.size, limits);
  else found.skipped.push(`${path} is skipped, because it is no file.`);
}

/** Links are not followed, because they may lead out of the folder or round in a circle. */
async function addFolder(found: Found, folder: string, limits: UploadLimits): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith('.')) found.skipped.push(`${path} is skipped, because it is hidden.`);
    else if (entry.isSymbolicLink()) found.skipped.push(`${path} is skipped, because it is a link.`);
    else await addPath(found, path, limits);
  }
}

function addFile({ files, skipped }: Found, path: string, sizeBytes: number, limits: UploadLimits): void {
  const name = basename(path);
  const mimeType = typeByName(name);
  if (mimeType === null) {
    skipped.push(`${path} is skipped, because files with this ending are not taken.`);
    return;
  }
  const file = { path, name, mimeType, sizeBytes };
  const [fault] = faultsOfFiles([{ ...file, clientId: '' }], limits);
  if (fault) skipped.push(`${path} is skipped: its ${fault.path.split('.').at(-1) ?? ''} ${fault.message}.`);
  else files.push(file);
}

export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(path) as AsyncIterable<Buffer>) hash.update(part);
  return hash.digest('hex');
}
