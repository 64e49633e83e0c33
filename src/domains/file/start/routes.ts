import type { ApiParts, App } from '../../../api/parts.js';
import { addFileRoutes } from '../api/files.js';
import { addUploadBatchRoutes } from '../api/upload-batches.js';
import { addUploadBytesRoute } from '../api/upload-bytes.js';
import type { UploadDeps } from '../api/upload-deps.js';
import { addUploadRoutes } from '../api/uploads.js';
import { createUploadSignatures } from '../core/upload-signature.js';
import type { FileSettings } from '../settings.js';

/** Adds every route of files. The API's reference lists them in this order. */
export async function addRoutes(app: App, parts: ApiParts, { uploads }: FileSettings): Promise<void> {
  const { secret, publicUrl = '' } = parts.settings.links;
  const deps: UploadDeps = {
    ...parts,
    uploads,
    signatures: secret === undefined ? null : createUploadSignatures(secret),
    publicUrl: publicUrl.replace(/\/+$/, ''),
  };
  addUploadRoutes(app, deps);
  await addUploadBytesRoute(app, deps);
  addUploadBatchRoutes(app, deps);
  addFileRoutes(app, deps);
}
