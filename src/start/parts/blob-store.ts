import type { Config } from '../../config.js';
import type { BlobStore, OpenBlobStore } from '../../ports/blob-store.js';

/** Opens the configured store when it is first asked for. The SDKs of clouds take megabytes, so only the chosen adapter is loaded. */
export function createOpenBlobStore({ blobs }: Pick<Config, 'blobs'>): OpenBlobStore {
  let opened: Promise<BlobStore> | undefined;
  return () => {
    opened ??= openBlobStore(blobs).catch((error: unknown) => {
      // A disk may be mounted later: the next caller tries again.
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

async function openBlobStore(settings: Config['blobs']): Promise<BlobStore> {
  switch (settings.kind) {
    case 'disk': {
      const { createDiskBlobStore } = await import('../../adapters/blob-store-disk.js');
      return createDiskBlobStore(settings);
    }
    case 'azure': {
      const { createAzureBlobStore } = await import('../../adapters/blob-store-azure.js');
      return createAzureBlobStore(settings);
    }
    case 's3': {
      const { createS3BlobStore } = await import('../../adapters/blob-store-s3.js');
      return createS3BlobStore(settings);
    }
  }
}
