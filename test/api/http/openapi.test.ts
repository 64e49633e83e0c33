import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApi } from '../contract.js';
import { documentedRoutes, documentOf, documentWith } from '../documented-routes.js';
import { openApi, type TestApi } from '../setup.js';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

interface FullOperation {
  summary?: string;
  tags?: string[];
  security?: Record<string, string[]>[];
  parameters?: { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { description?: string; content?: Record<string, { schema: object }> }>;
}

let api: TestApi;
let document: OpenApi;
/** The document of an API without any domain. */
let ofEngine: OpenApi;
beforeAll(async () => {
  api = await openApi();
  document = await documentOf(api);
  ofEngine = await documentWith([]);
});
afterAll(() => api.close());

function operations(): [path: string, method: string, operation: FullOperation][] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, string, FullOperation] => [path, method, operation]),
  );
}

function collect(value: unknown, found: (key: string, value: unknown) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, each] of Object.entries(value)) {
    found(key, each);
    collect(each, found);
  }
}

describe('the OpenAPI document', () => {
  it('is a 3.1 document of the routes there are; those of a domain are in its own tests', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({
      title: 'Unstuck',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string,
    });
    expect(documentedRoutes(ofEngine).all).toEqual([
      'get /api/v1/breakers',
      'get /api/v1/events',
      'get /api/v1/items',
      'get /api/v1/items/{id}',
      'get /api/v1/items/{id}/events',
      'get /api/v1/metrics/hours',
      'get /api/v1/notifications',
      'get /api/v1/operator-actions',
      'get /api/v1/pipelines',
      'get /api/v1/receipts',
      'get /api/v1/receipts.csv',
      'get /api/v1/receipts/summary',
      'get /api/v1/schedules',
      'get /api/v1/stuck',
      'get /api/v1/workers',
      'get /health/live',
      'get /health/ready',
      'get /metrics',
      'post /api/v1/breakers/{pipeline}/{class}/close',
      'post /api/v1/items/{id}/cancel',
      'post /api/v1/items/{id}/decisions',
      'post /api/v1/items/{id}/pause',
      'post /api/v1/items/{id}/reprioritize',
      'post /api/v1/items/{id}/resume',
      'post /api/v1/items/{id}/retry',
      'post /api/v1/pipelines/{name}/pause',
      'post /api/v1/pipelines/{name}/resume',
      'post /api/v1/schedules/{id}/abort',
      'post /api/v1/schedules/{id}/pause',
      'post /api/v1/schedules/{id}/resume',
      'post /api/v1/schedules/{id}/trigger',
    ]);
  });

  it('names the version of the program', () => {
    expect(document).toMatchObject({ info: { version: '7.8.9' } });
  });

  it('describes every operation whole: summary, tag, parameters, answers with their media types', () => {
    for (const [path, method, operation] of operations()) {
      expect(METHODS).toContain(method);
      expect(path).toMatch(/^\//);
      expect(operation.summary, path).toMatch(/^[A-Z]/);
      expect(operation.tags, path).toHaveLength(1);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((each) => each.in === 'path');
      expect(declared.map(({ name, required }) => ({ name, required }))).toEqual(
        inPath.map((name) => ({ name, required: true })),
      );
      for (const [status, response] of Object.entries(operation.responses)) {
        expect(status).toMatch(/^[2-5]\d\d$/);
        expect(response.description, `${path} ${status}`).toBeTruthy();
        const media = Object.keys(response.content ?? {});
        if (Number(status) >= 400) expect(media, `${path} ${status}`).toEqual(['application/problem+json']);
        else expect(media).toHaveLength(['204', '304'].includes(status) ? 0 : 1);
      }
      if (method === 'post') expect(Object.keys(operation.requestBody?.content ?? {})).toEqual(['application/json']);
    }
  });

  it('asks for a token everywhere but for health', () => {
    expect(document.components.securitySchemes).toHaveProperty('bearer');
    expect(documentedRoutes(ofEngine).open).toEqual(['get /health/live', 'get /health/ready']);
    for (const [path, , operation] of operations()) {
      if (operation.security) expect(operation.responses, path).toHaveProperty('401');
    }
  });

  it('documents the Idempotency-Key wherever something is created or decided', () => {
    expect(documentedRoutes(ofEngine).keyed).toEqual(['post /api/v1/items/{id}/decisions']);
  });

  it('has only schemas that hold by JSON Schema 2020-12, and references that lead somewhere', () => {
    const ajv = new Ajv2020({ strict: false, validateSchema: true });
    addFormats.default(ajv);
    ajv.addSchema(document, 'openapi');
    const schemas: object[] = Object.values(document.components.schemas);
    const references: string[] = [];
    collect(document, (key, value) => {
      if (key === 'schema') schemas.push(value as object);
      if (key === '$ref') references.push(value as string);
    });
    expect(schemas.length).toBeGreaterThan(20);
    for (const schema of schemas) expect(ajv.validateSchema(schema), JSON.stringify(schema)).toBe(true);
    expect(references).toContain('#/components/schemas/Problem');
    for (const reference of references) expect(() => ajv.compile({ $ref: `openapi${reference}` })).not.toThrow();
  });

  it('is shown as a reference that a browser may run, and the root leads there', async () => {
    const root = await api.app.inject({ url: '/' });
    expect([root.statusCode, root.headers.location]).toEqual([302, '/docs']);
    const page = await api.app.inject({ url: '/docs' });
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    expect(page.headers['content-security-policy']).toMatch(/default-src 'self'/);
    const sources = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source ?? '');
    expect(sources.length).toBeGreaterThan(3);
    for (const source of sources) {
      const { pathname } = new URL(source, 'http://unstuck/docs/');
      expect((await api.app.inject({ url: pathname })).statusCode, source).toBe(200);
    }
  });
});
