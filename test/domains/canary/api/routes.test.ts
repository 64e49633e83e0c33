import { expect, it } from 'vitest';
import { canaryDomain } from '../../../../src/domains/canary/domain.js';
import { routesAddedBy } from '../../../api/documented-routes.js';

it('documents the routes of the domain, which ones ask for no token, and which ones take an Idempotency-Key', async () => {
  expect(await routesAddedBy(canaryDomain)).toEqual({
    all: ['get /api/v1/canaries/{id}', 'post /api/v1/canaries'],
    open: [],
    keyed: ['post /api/v1/canaries'],
  });
});
