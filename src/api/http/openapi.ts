import { fastifySwagger } from '@fastify/swagger';
import { fastifySwaggerUi } from '@fastify/swagger-ui';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { App } from '../parts.js';

const DESCRIPTION = `Long, multi-stage work that never stays "processing" for ever.

Send a token with every request: \`Authorization: Bearer <token>\`. Errors are \`application/problem+json\`; act on \`code\`.
A POST that creates takes an \`Idempotency-Key\`: sent again within 24 hours with the same body it gets the same answer.`;

/** The reference is a page of scripts of its own; its styles are set inline. */
const DOCS_CSP =
  "default-src 'self'; base-uri 'self'; img-src 'self' data:; object-src 'none'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** Collects the routes that are added after it, so it comes before them. */
export async function addOpenApi(app: App, version: string): Promise<void> {
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Unstuck', description: DESCRIPTION, version },
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
    },
    transform: (route) => {
      const { schema, url } = jsonSchemaTransform(route);
      const isOpen = route.route.config?.access === 'open';
      return { url, schema: isOpen ? schema : { ...schema, security: [{ bearer: [] }] } };
    },
    transformObject: jsonSchemaTransformObject,
  });
}

/** The document, and the reference that is made of it. */
export async function addReference(app: App): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'open' };
    });
    await scope.register(fastifySwaggerUi, { routePrefix: '/docs', staticCSP: DOCS_CSP });
    scope.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
    scope.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'));
  });
}
