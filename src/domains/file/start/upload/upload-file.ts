import { withPatience } from './patience.js';
import { type Sent, sendBytes } from './send-bytes.js';
import type { Upload, UploadApi } from './upload-api.js';

/** Sends a file's bytes and confirms them. Null: it is done. Otherwise the answer says why it can't be done. */
export async function uploadFile(
  api: Pick<UploadApi, 'confirm'>,
  upload: Upload,
  progress: (bytes: number) => void,
): Promise<string | null> {
  try {
    const { status, detail } = await sendPatiently(upload, progress);
    // 409: an earlier try was stored, and its answer was lost. 412 is the same of a store that signs requests by itself.
    const isThere = (status >= 200 && status < 300) || status === 409 || status === 412;
    if (!isThere) return `its bytes were refused (${status}): ${detail}`;
    await api.confirm(upload);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function sendPatiently({ file, uploadUrl, uploadHeaders }: Upload, progress: (bytes: number) => void): Promise<Sent> {
  const { path, sizeBytes } = file;
  return withPatience(async () => {
    let told = 0;
    const count = (bytes: number): void => {
      told += bytes;
      progress(bytes);
    };
    try {
      const sent = await sendBytes({ url: uploadUrl, headers: uploadHeaders, path, sizeBytes, progress: count });
      const isBusy = sent.status === 429 || sent.status === 408 || sent.status >= 500;
      if (!isBusy) return { done: sent, problem: '', afterMs: null };
      progress(-told);
      return { done: undefined, problem: `its bytes were refused: ${sent.detail}`, afterMs: sent.retryAfterMs };
    } catch (error) {
      progress(-told);
      const problem = `its bytes could not be sent: ${error instanceof Error ? error.message : String(error)}`;
      return { done: undefined, problem, afterMs: null };
    }
  });
}
