import { z } from 'zod';
import type { PackageIndex } from '../ports/package-index.js';
import { createGetJson, type GetOptions, unavailable } from '../../../adapters/get-json.js';

export interface NpmOptions extends Pick<GetOptions, 'allowPrivate' | 'timeoutMs' | 'resolve'> {
  registryUrl: string;
  downloadsUrl: string;
}

/** Packages of one page: two hundred kilobytes, which the registry answers at once. */
const PAGE_PACKAGES = 100;

/** Ten times what such a page is. */
const MAX_BYTES = 2_000_000;

/** Neither NUL, which can't be stored, nor anything else that nobody can see: npm takes no such names itself. */
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
  const get = createGetJson({ ...options, maxBytes: MAX_BYTES });
  return {
    async search(keyword, from, signal) {
      const url = new URL('-/v1/search', folderOf(registryUrl));
      url.search = new URLSearchParams({
        text: `keywords:${keyword}`,
        size: String(PAGE_PACKAGES),
        from: String(from),
      }).toString();
      const { objects, total } = shaped(Found, url, (await get(url, signal))?.json);
      const packages = objects.slice(0, PAGE_PACKAGES).flatMap((each) => {
        // One that is not what it should be does not hide the others.
        const { data } = Package.safeParse(each);
        if (!data) return [];
        const { name, version, links } = data.package;
        return [{ name, version, repository: links.repository ?? null }];
      });
      const next = from + PAGE_PACKAGES;
      return { packages, next: objects.length === 0 || next >= total ? null : next };
    },

    async downloadsOf(name, signal) {
      const url = new URL(`downloads/point/last-month/${encodeURIComponent(name)}`, folderOf(downloadsUrl));
      const found = await get(url, signal);
      return found && shaped(Downloads, url, found.json).downloads;
    },
  };
}

/** What is asked for lies below it. */
export function folderOf(url: string): string {
  return url.endsWith('/') ? url : `${url}/`;
}

export function shaped<Shape extends z.ZodType>(shape: Shape, url: URL, answer: unknown): z.output<Shape> {
  const { data, success } = shape.safeParse(answer);
  if (!success) throw unavailable(url, 'answers with something else than was asked for');
  return data;
}
