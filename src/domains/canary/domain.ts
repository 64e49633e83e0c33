import type { Domain } from '../../start/parts/domain.js';
import { addCanaryRoutes } from './api/canaries.js';
import { canary } from './table.js';

/** Small items that prove an installation. */
export const canaryDomain: Domain = {
  name: 'canary',
  tables: [canary],
  words: ['canary', 'canaries'],
  routes: addCanaryRoutes,
  async stages({ reads }) {
    const { createCanaryStages } = await import('./start/canary-stages.js');
    return { canary: createCanaryStages(reads) };
  },
  commands: {
    drill: () => import('./start/drill.js'),
  },
};
