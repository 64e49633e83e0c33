import { z } from 'zod';
import { type ApiClient, createApiClient } from '../../../../start/parts/api-client.js';
import { StartError } from '../../../../start/embedded/start-error.js';
import type { LocalFile } from './local-files.js';
import { callAgain } from './patience.js';

const Registered = z.object({
  batchId: z.string(),
  files: z.array(
    z.object({
      clientId: z.string(),
      fileId: z.string(),
      uploadUrl: z.string(),
      uploadHeaders: z.record(z.string(), z.string()).optional(),
    }),
  ),
});

const Refused = z.object({ errors: z.array(z.object({ path: z.string(), message: z.string() })) });

const Progress = z.object({
  files: z.array(
    z.object({ id: z.string(), state: z.string(), endedAt: z.string().nullable(), error: z.string().nullable() }),
  ),
});
export type FileProgress = z.output<typeof Progress>['files'][number];

const Advice = z.object({ nextAction: z.string() });

export interface ToUpload extends LocalFile {
  sha256: string;
}

/** A file that the API knows. */
export interface Upload {
  file: ToUpload;
  batchId: string;
  fileId: string;
  uploadUrl: string;
  uploadHeaders: Readonly<Record<string, string>>;
}

export interface Registration {
  uploads: Upload[];
  refused: { file: ToUpload; why: string }[];
}

/** The calls of the command, in its own words. */
export interface UploadApi {
  register(files: readonly ToUpload[]): Promise<Registration>;
  confirm(upload: Upload): Promise<void>;
  progressOf(batchId: string): Promise<FileProgress[]>;
  adviceFor(fileId: string): Promise<string>;
}

export function createUploadApi(url: string, token: string): UploadApi {
  const { call, read }: ApiClient = createApiClient({ name: 'upload', url, token, whose: "a user's" });
  const again = <T>(work: () => Promise<T>): Promise<T> => callAgain(work, isAway);

  async function register(files: readonly ToUpload[]): Promise<Registration> {
    const body = { files: files.map(({ path: _path, ...file }, index) => ({ ...file, clientId: String(index) })) };
    // The first call is not repeated: without an installation the sentence comes at once.
    const response = await call('POST', '/api/v2/uploads/batches', body);
    const refused = response.status === 400 ? Refused.safeParse(await response.clone().json()).data : undefined;
    const faults = new Map((refused?.errors ?? []).map(({ path, message }) => [Number(path.split('.')[1]), message]));
    const isFaulty = (index: number): boolean => faults.has(index);
    if (refused && [...faults.keys()].every((index) => files[index] !== undefined)) {
      const sound = files.filter((_file, index) => !isFaulty(index));
      const rest = sound.length === 0 ? { uploads: [], refused: [] } : await register(sound);
      const named = files.flatMap((file, index) => (isFaulty(index) ? [{ file, why: faults.get(index) ?? '' }] : []));
      return { uploads: rest.uploads, refused: [...named, ...rest.refused] };
    }
    const { batchId, files: registered } = await read(response, Registered);
    return { uploads: uploadsOf(url, batchId, files, registered), refused: [] };
  }

  return {
    register,
    async confirm({ batchId, fileId }) {
      const path = `/api/v2/uploads/batches/${batchId}/files/${fileId}/confirm`;
      await again(async () => read(await call('POST', path), z.unknown()));
    },
    async progressOf(batchId) {
      return (await again(async () => read(await call('GET', `/api/v2/uploads/batches/${batchId}`), Progress))).files;
    },
    async adviceFor(fileId) {
      return (await again(async () => read(await call('GET', `/api/v2/files/${fileId}`), Advice))).nextAction;
    },
  };
}

function uploadsOf(
  url: string,
  batchId: string,
  files: readonly ToUpload[],
  registered: z.output<typeof Registered>['files'],
): Upload[] {
  return registered.map(({ clientId, fileId, uploadUrl, uploadHeaders = {} }) => {
    const file = files[Number(clientId)];
    if (!file) throw new StartError(`upload: what answers at ${url} is not the API of this installation.`);
    // Without PUBLIC_URL the API does not know its own address. This command does.
    return { file, batchId, fileId, uploadUrl: new URL(uploadUrl, `${url}/`).href, uploadHeaders };
  });
}

/** The client throws so when nobody answers, and when a busy API has refused all its tries. */
function isAway(error: unknown): boolean {
  if (!(error instanceof StartError)) return false;
  return error.cause !== undefined || error.message.includes('did not do its part');
}
