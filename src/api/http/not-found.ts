import { AppError } from '../../core/errors.js';
import type { App } from '../parts.js';

/** Answers a request that no route takes: 405 if the path takes another method, else 404. Call it before any route is
 *  added. */
export function addNotFoundHandler(app: App): void {
  const methodsOf = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const known = methodsOf.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    for (const each of [method].flat()) known.methods.add(each);
    methodsOf.set(url, known);
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const allowed = [...methodsOf.values()].find(({ pattern }) => pattern.test(path));
    if (!allowed) throw new AppError('not_found', 'there is no such path');
    const allow = [...allowed.methods].sort().join(', ');
    void reply.header('Allow', allow);
    throw new AppError('method_not_allowed', `this path takes ${allow}`);
  });
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
