import type { ReaderDeps } from '../../../api/items/item-reader.js';
import type { ApiDeps } from '../../../api/parts.js';
import type { UploadSettings } from '../config/upload-settings.js';
import type { UploadSignatures } from '../core/upload-signature.js';

/** The dependencies of the routes that register, receive and confirm files. */
export type UploadDeps = ReaderDeps & {
  blobs: ApiDeps['blobs'];
  uploads: UploadSettings;
  /** Null: the installation has no secret to sign with. */
  signatures: UploadSignatures | null;
  /** The address under which people reach the API, without a slash at its end. Empty: signed addresses are paths. */
  publicUrl: string;
};
