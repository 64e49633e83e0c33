import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createOpenBlobStore } from '../../../src/start/parts/blob-store.js';
import { loadConfig } from '../../../src/start/parts/from-domains.js';
import { tempDir } from '../temp-dir.js';

describe('the blob store of a process', () => {
  it('is opened once, when it is first needed, in the data folder by default', async () => {
    const dataDir = tempDir();
    const folder = join(dataDir, 'blobs');
    const open = createOpenBlobStore(loadConfig({ DATA_DIR: dataDir }));
    expect(existsSync(folder)).toBe(false);

    const stores = await Promise.all([open(), open()]);

    expect(stores[0].kind).toBe('disk');
    expect(stores[1]).toBe(stores[0]);
    expect(existsSync(folder)).toBe(true);
  });

  it('is opened again after an opening that failed', async () => {
    const folder = join(tempDir(), 'blobs');
    writeFileSync(folder, 'a file where the folder should be');
    const open = createOpenBlobStore(loadConfig({ BLOB_FOLDER: folder }));

    await expect(open()).rejects.toMatchObject({ code: 'blob_store_unavailable' });
    rmSync(folder);

    expect((await open()).kind).toBe('disk');
  });

  it('is the configured one', async () => {
    const azure = createOpenBlobStore(
      loadConfig({
        BLOB_STORE: 'azure',
        AZURE_STORAGE_CONNECTION_STRING:
          'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5;EndpointSuffix=core.windows.net',
        AZURE_STORAGE_CONTAINER: 'blobs',
      }),
    );
    const s3 = createOpenBlobStore(loadConfig({ BLOB_STORE: 's3', S3_BUCKET: 'blobs', S3_REGION: 'eu-central-1' }));

    expect([(await azure()).kind, (await s3()).kind]).toEqual(['azure', 's3']);
  });
});
