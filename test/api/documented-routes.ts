import { type Domain, followsOf, settingsOf } from '../../src/start/parts/domain.js';
import { loadConfig } from '../../src/start/parts/from-domains.js';
import type { OpenApi } from './contract.js';
import { openApi, type TestApi } from './setup.js';

interface Described {
  security?: object[];
  parameters?: { name: string }[];
}

/** Routes as `get /api/v1/items`, sorted. */
export interface DocumentedRoutes {
  all: string[];
  /** Those that ask for no token. */
  open: string[];
  /** Those that take an Idempotency-Key. */
  keyed: string[];
}

export async function documentOf({ app }: TestApi): Promise<OpenApi> {
  return (await app.inject({ url: '/openapi.json' })).json<OpenApi>();
}

/** The document of an API with the routes of these domains alone. */
export async function documentWith<Settings>(domains: readonly Domain<Settings>[]): Promise<OpenApi> {
  const config = loadConfig({});
  const api = await openApi({
    domainRoutes: domains.map((domain) => (app, parts) => domain.routes?.(app, parts, settingsOf(config, domain))),
    follows: domains.flatMap((domain) => followsOf(config, domain)),
  });
  try {
    return await documentOf(api);
  } finally {
    await api.close();
  }
}

export function documentedRoutes(document: OpenApi): DocumentedRoutes {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method} ${path}`,
      operation: operation as Described,
    })),
  );
  const routesWhere = (is: (operation: Described) => boolean): string[] =>
    operations
      .filter(({ operation }) => is(operation))
      .map(({ route }) => route)
      .sort();
  return {
    all: routesWhere(() => true),
    open: routesWhere(({ security }) => !security),
    keyed: routesWhere(({ parameters = [] }) => parameters.some(({ name }) => name === 'idempotency-key')),
  };
}

/** The routes that a domain adds to the engine's. */
export async function routesAddedBy<Settings>(domain: Domain<Settings>): Promise<DocumentedRoutes> {
  const engine = new Set(documentedRoutes(await documentWith([])).all);
  const { all, open, keyed } = documentedRoutes(await documentWith([domain]));
  const added = (routes: string[]): string[] => routes.filter((route) => !engine.has(route));
  return { all: added(all), open: added(open), keyed: added(keyed) };
}
