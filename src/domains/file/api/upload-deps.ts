import type { ReaderDeps } from '../../../api/items/item-reader.js';
import type { ApiDeps } from '../../../api/parts.js';
import type { Actor } from '../../../db/spine/transition.js';
import type { UploadSettings } from '../core/upload-settings.js';
import type { UploadSignatures } from './upload-signature.js';

/** The dependencies of the routes that register, receive and confirm files. */
export type UploadDeps = ReaderDeps & {
  blobs: ApiDeps['blobs'];
  uploads: UploadSettings;
  /** Deletes a file that its owner no longer sees. `blob_left`: the store does not answer, and both are still there. */
  deleteFile(file: { id: string; blobKey: string }, actor: Actor): Promise<'deleted' | 'blob_left'>;
  /** Null: the installation has no secret to sign with. */
  signatures: UploadSignatures | null;
  /** The address under which people reach the API, without a slash at its end. Empty: signed addresses are paths. */
  publicUrl: string;
};
