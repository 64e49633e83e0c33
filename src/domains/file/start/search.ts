import { createApiClient, tokenFor } from '../../../start/parts/api-client.js';
import { installationOf } from '../../../start/embedded/installation.js';
import { loadConfig } from '../../../start/parts/from-domains.js';
import { runCommand } from '../../../start/parts/run-command.js';
import { searchOptionsOf, USAGE } from './search/search-options.js';
import { FoundPassages, showPassages } from './search/show-passages.js';

/** Searches the files of the token's owner in a running installation. */
async function search(args: string[]): Promise<FoundPassages> {
  const options = searchOptionsOf(args);
  const config = loadConfig();
  const url = options.url ?? installationOf(config).apiUrl;
  const token = tokenFor('search', options.token, config);
  const api = createApiClient({ name: 'search', url, token, whose: "a user's" });
  const query = new URLSearchParams({ q: options.text, ...(options.limit !== undefined && { limit: options.limit }) });
  return api.read(await api.call('GET', `/api/v2/files/search?${query.toString()}`), FoundPassages);
}

await runCommand({
  name: 'search',
  usage: USAGE,
  async run(args) {
    const found = await search(args);
    return { lines: showPassages(found), figures: { ok: true, ...found }, exitCode: 0 };
  },
});
