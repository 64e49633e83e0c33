import { pipelineOf } from '../../../api/items/item-reader.js';
import type { ApiParts, App } from '../../../api/parts.js';
import { deleteFile } from '../activities/delete-file.js';
import { addFileRoutes } from '../api/files.js';
import { addSearchRoute } from '../api/search.js';
import { addUploadBatchRoutes } from '../api/upload-batches.js';
import { addUploadBytesRoute } from '../api/upload-bytes.js';
import type { UploadDeps } from '../api/upload-deps.js';
import { addUploadRoutes } from '../api/uploads.js';
import { createUploadSignatures } from '../api/upload-signature.js';
import type { FileSettings } from '../settings.js';
import { addDashboardRoutes } from './dashboard-routes.js';
import { createSearchParts } from './search-parts.js';

/** Adds every route of files. The API's reference lists them in this order. */
export async function addRoutes(app: App, parts: ApiParts, settings: FileSettings): Promise<void> {
  const { uploads, search } = settings;
  const { secret, publicUrl = '' } = parts.settings.links;
  const { pool } = parts;
  const deps: UploadDeps = {
    ...parts,
    async deleteFile(file, actor) {
      return deleteFile({ pool, blobs: await parts.blobs(), pipeline: pipelineOf(parts, 'file') }, file, actor);
    },
    uploads,
    signatures: secret === undefined ? null : createUploadSignatures(secret),
    publicUrl: publicUrl.replace(/\/+$/, ''),
  };
  addUploadRoutes(app, deps);
  await addUploadBytesRoute(app, deps);
  addUploadBatchRoutes(app, deps);
  addSearchRoute(app, createSearchParts(parts, search));
  addFileRoutes(app, deps);
  addDashboardRoutes(app, parts, settings);
}
