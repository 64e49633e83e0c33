import type { ApiParts, App } from '../../../api/parts.js';
import { addDashboardRoute } from '../api/dashboard.js';
import { createFigureCache } from '../api/figure-cache.js';
import { addOrphanRoutes } from '../api/orphan-report.js';
import { addStuckListRoute } from '../api/stuck-list.js';
import { addStuckRetryRoutes } from '../api/stuck-retry.js';
import type { CleanUpSettings } from '../config/clean-up-settings.js';
import type { FileFigures } from '../db/dashboard.js';

/** Paths whose requests change files. */
const OWN_PATHS = ['/api/v2/uploads/', '/api/v2/files/'];

/** Adds the dashboard. Its figures are forgotten when their owner changes a file in this process. The figures also have a stamp of the
 *  rows, so that other changes are seen as well. */
export function addDashboardRoutes(app: App, parts: ApiParts, { cleanUp }: { cleanUp: CleanUpSettings }): void {
  const cache = createFigureCache<FileFigures>(cleanUp.dashboardCacheMs);
  // Before the answer is sent, so that the next request of its caller sees the change.
  app.addHook('onSend', async ({ method, url, caller }) => {
    if (method !== 'GET' && caller && OWN_PATHS.some((path) => url.startsWith(path))) cache.drop(caller.sub);
  });
  addDashboardRoute(app, { ...parts, cache });
  addStuckListRoute(app, parts);
  addOrphanRoutes(app, { ...parts, cleanUp });
  addStuckRetryRoutes(app, { ...parts, drop: cache.drop });
}
