import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNpmIndex } from '../../../../src/domains/submission/adapters/package-index-npm.js';
import { sourceContract } from './source-contract.js';
import { type SourceServer, startSourceServer } from './source-server.js';

function npm(url: string, limits = { allowPrivate: true, timeoutMs: 20_000 }) {
  return createNpmIndex({ registryUrl: url, downloadsUrl: `${url}/`, ...limits });
}

const { signal } = new AbortController();

sourceContract('a search', (url, limits, stop) => npm(url, limits).search('skill', 0, stop), { objects: [], total: 0 });
sourceContract('a count of downloads', (url, limits, stop) => npm(url, limits).downloadsOf('pdf', stop), {
  downloads: 1,
});

describe('the npm registry', () => {
  let server: SourceServer;
  beforeEach(async () => {
    server = await startSourceServer();
  });
  afterEach(() => server.close());

  function packaged(name: string, links: unknown = {}): object {
    return { package: { name, version: '1.2.3', links } };
  }

  it('is asked for a keyword page by page until the last', async () => {
    server.json({ objects: [packaged('a')], total: 150 });
    expect(await npm(server.url).search('claude-skill', 0, signal)).toMatchObject({ next: 100 });
    expect(server.asked).toEqual(['GET /-/v1/search?text=keywords%3Aclaude-skill&size=100&from=0']);
    expect(await npm(server.url).search('claude-skill', 100, signal)).toMatchObject({ next: null });
    // A registry that claims more packages than it shows is not asked for ever.
    server.json({ objects: [], total: 1_000_000 });
    expect(await npm(server.url).search('claude-skill', 0, signal)).toEqual({ packages: [], next: null });
  });

  it('leaves out malformed packages, and shows the others', async () => {
    const repository = 'git+https://github.com/ada/pdf.git';
    server.json({
      objects: [
        packaged('pdf', { repository }),
        packaged('bare'),
        packaged('odd', 'none'),
        { package: { name: 7 } },
        packaged('nul\0'),
        { package: { name: 'odd-version', version: '1.0.0\0', links: {} } },
        null,
      ],
      total: 7,
    });
    const { packages } = await npm(server.url).search('skill', 0, signal);
    expect(packages).toEqual([
      { name: 'pdf', version: '1.2.3', repository },
      { name: 'bare', version: '1.2.3', repository: null },
      { name: 'odd', version: '1.2.3', repository: null },
    ]);
  });

  it('counts the downloads of a package, whatever its name, and says when it has no count', async () => {
    server.json({ downloads: 42 });
    expect(await npm(server.url).downloadsOf('@ada/pdf', signal)).toBe(42);
    expect(server.asked).toEqual(['GET /downloads/point/last-month/%40ada%2Fpdf']);
    server.json({ error: 'not found' }, 404);
    expect(await npm(server.url).downloadsOf('nobody', signal)).toBeNull();
  });
});
