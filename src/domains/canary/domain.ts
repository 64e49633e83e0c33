import type { Domain } from '../../start/parts/domain.js';
import { canary } from './table.js';

/** Small items that prove an installation. */
export const canaryDomain: Domain = {
  name: 'canary',
  tables: [canary],
  words: ['canary', 'canaries'],
  async routes(app, parts) {
    const { addCanaryRoutes } = await import('./api/canaries.js');
    addCanaryRoutes(app, parts);
  },
  async stages({ reads }) {
    const { createCanaryStages } = await import('./start/canary-stages.js');
    return { canary: createCanaryStages(reads) };
  },
  commands: {
    drill: () => import('./start/drill.js'),
  },
};
