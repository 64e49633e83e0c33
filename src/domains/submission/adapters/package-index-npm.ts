import { z } from 'zod';
import type { PackageIndex } from '../ports/package-index.js';
import { createGetJson, type GetOptions, sourceUnavailable } from '../../../adapters/get-json.js';

export interface NpmOptions extends Pick<GetOptions, 'allowPrivate' | 'timeoutMs' | 'resolve'> {
  registryUrl: string;
  downloadsUrl: string;
}

/** The variable that allows private addresses for the sources of skills. */
export const ALLOW_PRIVATE_SETTING = 'SOURCES_ALLOW_PRIVATE';

/** Packages of one page. The answer has two hundred kilobytes, and the registry sends it at once. */
const PAGE_PACKAGES = 100;

/** Ten times the size of a page. */
const MAX_BYTES = 2_000_000;

/** Text without NUL, which can't be stored, and without invisible characters. npm itself takes no names with them. */
function plainText(max: number) {
  return z
    .string()
    .max(max)
    .regex(/^[^\p{C}\p{Z}]+$/u);
}

const Package = z.object({
  package: z.object({
    name: plainText(214),
    version: plainText(100),
    links: z.object({ repository: z.string().max(500).optional().catch(undefined) }).catch({}),
  }),
});

const Found = z.object({ objects: z.array(z.unknown()), total: z.int().min(0) });

const Downloads = z.object({ downloads: z.int().min(0) });

export function createNpmIndex({ registryUrl, downloadsUrl, ...options }: NpmOptions): PackageIndex {
  const get = createGetJson({ ...options, allowPrivateSetting: ALLOW_PRIVATE_SETTING, maxBytes: MAX_BYTES });
  return {
    async search(keyword, from, signal) {
      const url = new URL('-/v1/search', baseUrlOf(registryUrl));
      url.search = new URLSearchParams({
        text: `keywords:${keyword}`,
        size: String(PAGE_PACKAGES),
        from: String(from),
      }).toString();
      const { objects, total } = parseAnswer(Found, url, (await get(url, signal))?.json);
      const packages = objects.slice(0, PAGE_PACKAGES).flatMap((each) => {
        // A malformed package does not hide the others.
        const { data } = Package.safeParse(each);
        if (!data) return [];
        const { name, version, links } = data.package;
        return [{ name, version, repository: links.repository ?? null }];
      });
      const next = from + PAGE_PACKAGES;
      return { packages, next: objects.length === 0 || next >= total ? null : next };
    },

    async downloadsOf(name, signal) {
      const url = new URL(`downloads/point/last-month/${encodeURIComponent(name)}`, baseUrlOf(downloadsUrl));
      const found = await get(url, signal);
      return found && parseAnswer(Downloads, url, found.json).downloads;
    },
  };
}

/** Ends with a slash, so that a relative path is resolved below the URL. */
export function baseUrlOf(url: string): string {
  return url.endsWith('/') ? url : `${url}/`;
}

export function parseAnswer<Shape extends z.ZodType>(shape: Shape, url: URL, answer: unknown): z.output<Shape> {
  const { data, success } = shape.safeParse(answer);
  if (!success) throw sourceUnavailable(url, 'answers with something else than was asked for');
  return data;
}
