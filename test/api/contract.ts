import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { LightMyRequestResponse } from 'fastify';

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}
export interface OpenApi {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
}

export type Contract = (method: string, path: string, response: LightMyRequestResponse) => void;

/** Holds every response against the document: its status and media type must be announced, its body must fit the schema. */
export function createContract(document: OpenApi): Contract {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  const checks = new Map<string, ValidateFunction>();
  function checkOf($ref: string): ValidateFunction {
    const check = checks.get($ref) ?? ajv.compile({ $ref });
    checks.set($ref, check);
    return check;
  }
  return (method, path, response) => {
    const where = `${method} ${path} → ${String(response.statusCode)}`;
    // A path without a parameter wins, as it does in the router.
    const templates = Object.keys(document.paths).filter((each) => patternOf(each).test(path));
    const template = templates.find((each) => !each.includes('{')) ?? templates[0];
    const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()];
    const media = mediaTypeOf(response);
    const isEmpty = [204, 304].includes(response.statusCode) && response.body === '';
    if (isEmpty && operation?.responses[String(response.statusCode)]) return;
    const pointer =
      template !== undefined && operation
        ? [
            'paths',
            template,
            method.toLowerCase(),
            'responses',
            String(response.statusCode),
            'content',
            media,
            'schema',
          ]
        : ['components', 'schemas', 'Problem'];
    if (operation && !operation.responses[String(response.statusCode)]?.content?.[media]) {
      throw new Error(`${where}: ${media || 'no content'} is not announced; body: ${response.body}`);
    }
    const check = checkOf(`openapi#/${pointer.map(escape).join('/')}`);
    const body: unknown = media.includes('json') ? response.json() : response.body;
    if (!check(body)) throw new Error(`${where}: ${ajv.errorsText(check.errors)}; body: ${response.body}`);
  };
}

export function mediaTypeOf(response: LightMyRequestResponse): string {
  return String(response.headers['content-type'] ?? '').split(';')[0] ?? '';
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`);
}

/** As a part of a JSON pointer inside a URI. */
function escape(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}
