import { expect, it } from 'vitest';
import { fileDomain } from '../../../../src/domains/file/domain.js';
import { routesAddedBy } from '../../../api/documented-routes.js';

it('documents the routes of the domain, which ones ask for no token, and which ones take an Idempotency-Key', async () => {
  expect(await routesAddedBy(fileDomain)).toEqual({
    all: [
      'delete /api/v2/files/{id}',
      'delete /api/v2/uploads/batches/{id}',
      'get /api/v2/files',
      'get /api/v2/files/search',
      'get /api/v2/files/{id}',
      'get /api/v2/files/{id}/chunks',
      'get /api/v2/files/{id}/events',
      'get /api/v2/files/{id}/text',
      'get /api/v2/uploads/batches',
      'get /api/v2/uploads/batches/{id}',
      'get /api/v2/uploads/dashboard',
      'get /api/v2/uploads/orphans',
      'get /api/v2/uploads/stuck',
      'post /api/v2/files/{id}/retry',
      'post /api/v2/uploads/batches',
      'post /api/v2/uploads/batches/{id}/files/{fileId}/confirm',
      'post /api/v2/uploads/check-duplicates',
      'post /api/v2/uploads/orphans/scan',
      'post /api/v2/uploads/stuck/retry-all',
      'post /api/v2/uploads/stuck/{fileId}/retry',
      'put /api/v2/uploads/bytes/{fileId}',
    ],
    open: ['put /api/v2/uploads/bytes/{fileId}'],
    keyed: ['post /api/v2/uploads/batches'],
  });
});
