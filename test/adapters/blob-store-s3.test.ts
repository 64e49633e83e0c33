import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { locateVersitygw, VERSITYGW_VERSION } from '../../scripts/find-versitygw.mjs';
import { createS3BlobStore, type S3Options } from '../../src/adapters/blob-store-s3.js';
import { freePort } from '../support/free-port.js';
import { blobStoreContract, type OpenedStore } from '../ports/blob-store-contract.js';
import { S3_KEYS, startVersitygw } from './blob-server.js';

const versitygw = locateVersitygw();

const missing =
  versitygw === undefined
    ? `versitygw ${VERSITYGW_VERSION}, an S3 server for tests, is missing: node scripts/get-versitygw.mjs builds it with Go`
    : undefined;

async function open(): Promise<OpenedStore> {
  const server = await startVersitygw(versitygw as string);
  const options: S3Options = {
    ...{ bucket: 'blobs', region: 'us-east-1', endpoint: server.url, keys: S3_KEYS, forcePathStyle: true },
  };
  const client = new S3Client({
    region: 'us-east-1',
    endpoint: server.url,
    credentials: S3_KEYS,
    forcePathStyle: true,
  });
  await client.send(new CreateBucketCommand({ Bucket: 'blobs' }));
  client.destroy();
  const store = createS3BlobStore(options);
  return {
    store,
    away: async () => createS3BlobStore({ ...options, endpoint: `http://127.0.0.1:${await freePort()}` }),
    misplaced: () => createS3BlobStore({ ...options, bucket: 'nowhere' }),
    async close() {
      await store.close();
      await server.stop();
    },
  };
}

blobStoreContract('an S3 bucket', open, { expired: /expired/i, missing });
