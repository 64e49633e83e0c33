import { BlobServiceClient } from '@azure/storage-blob';
import { createAzureBlobStore } from '../../src/adapters/blob-store-azure.js';
import { freePort } from '../support/free-port.js';
import { blobStoreContract, type OpenedStore } from '../ports/blob-store-contract.js';
import { azuriteConnection, startAzurite } from './blob-server.js';

async function open(): Promise<OpenedStore> {
  const server = await startAzurite();
  const connectionString = azuriteConnection(server.url);
  await BlobServiceClient.fromConnectionString(connectionString).getContainerClient('blobs').create();
  return {
    store: createAzureBlobStore({ connectionString, container: 'blobs' }),
    away: async () =>
      createAzureBlobStore({
        connectionString: azuriteConnection(`http://127.0.0.1:${await freePort()}`),
        container: 'blobs',
      }),
    misplaced: () => createAzureBlobStore({ connectionString, container: 'nowhere' }),
    close: server.stop,
  };
}

blobStoreContract('an Azure container', open, { expired: /AuthenticationFailed|AuthorizationFailure/ });
