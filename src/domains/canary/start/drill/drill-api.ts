import { z } from 'zod';
import type { CanarySettings } from '../../core/canary-settings.js';
import { createApiClient } from '../../../../start/parts/api-client.js';
import type { EffectSeen } from './verdict.js';

/** The calls that a drill makes to the installation's API. */
export interface DrillApi {
  /** Throws a sentence if the API does not answer or refuses the token. */
  assertAdmitted(): Promise<void>;
  submitCanary(settings: Pick<CanarySettings, 'stageMs' | 'faults'>): Promise<string>;
  findCanary(id: string): Promise<{ state: string; effects: EffectSeen[] }>;
  /** Resolves when the item has ended, by this call or before it. */
  cancel(id: string): Promise<void>;
}

/** No item has this id. Only a caller with a valid token gets 404 for it. */
const NIL = '00000000-0000-0000-0000-000000000000';

const Accepted = z.object({ id: z.string() });
const Canary = z.object({
  state: z.string(),
  effects: z.array(z.object({ visit: z.int(), stage: z.string(), unit: z.string() })),
});

/** Each call has its own time limit and does not end with the drill's signal, because a drill that is called off still
 *  cancels its canaries. */
export function createDrillApi(url: string, token: string): DrillApi {
  const { call, read } = createApiClient({ name: 'drill', url, token, whose: "an admin's" });
  return {
    async assertAdmitted() {
      const response = await call('GET', `/api/v1/items/${NIL}`);
      if (response.status !== 404) await read(response, Accepted);
    },
    async submitCanary(settings) {
      return (await read(await call('POST', '/api/v1/canaries', settings), Accepted)).id;
    },
    async findCanary(id) {
      return read(await call('GET', `/api/v1/canaries/${id}`), Canary);
    },
    async cancel(id) {
      const response = await call('POST', `/api/v1/items/${id}/cancel`, { reason: 'the drill was called off' });
      if (response.status !== 409) await read(response, Accepted);
    },
  };
}
