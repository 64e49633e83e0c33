import { expect, it } from 'vitest';
import { submissionDomain } from '../../../../src/domains/submission/domain.js';
import { routesAddedBy } from '../../../api/documented-routes.js';

it('documents the routes of the domain, which ones ask for no token, and which ones take an Idempotency-Key', async () => {
  expect(await routesAddedBy(submissionDomain)).toEqual({
    all: [
      'delete /api/v1/admin/queue/pause',
      'get /api/v1/admin/queue/status',
      'get /api/v1/admin/sla',
      'get /api/v1/skills',
      'get /api/v1/skills/{name}',
      'get /api/v1/skills/{name}/badge.svg',
      'get /api/v1/skills/{name}/versions',
      'get /api/v1/status/{token}',
      'get /api/v1/status/{token}/events',
      'get /api/v1/submissions',
      'get /api/v1/submissions/positions',
      'get /api/v1/submissions/stats',
      'get /api/v1/submissions/{id}',
      'get /api/v1/submissions/{id}/events',
      'post /api/v1/admin/queue/pause',
      'post /api/v1/admin/submissions/{id}/approve',
      'post /api/v1/admin/submissions/{id}/escalate',
      'post /api/v1/admin/submissions/{id}/reject',
      'post /api/v1/admin/submissions/{id}/reprioritize',
      'post /api/v1/admin/submissions/{id}/retry',
      'post /api/v1/submissions',
      'post /api/v1/submissions/bulk',
    ],
    open: [
      'get /api/v1/skills',
      'get /api/v1/skills/{name}',
      'get /api/v1/skills/{name}/badge.svg',
      'get /api/v1/skills/{name}/versions',
      'get /api/v1/status/{token}',
      'get /api/v1/status/{token}/events',
    ],
    keyed: [
      'post /api/v1/admin/submissions/{id}/approve',
      'post /api/v1/admin/submissions/{id}/escalate',
      'post /api/v1/admin/submissions/{id}/reject',
      'post /api/v1/submissions',
      'post /api/v1/submissions/bulk',
    ],
  });
});
