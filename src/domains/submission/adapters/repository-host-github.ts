import { z } from 'zod';
import type { RepositoryHost } from '../ports/repository-host.js';
import { createGetJson, type GetOptions, sourceUnavailable } from '../../../adapters/get-json.js';
import { ALLOW_PRIVATE_SETTING, baseUrlOf, parseAnswer } from './package-index-npm.js';

export interface GitHubOptions extends Pick<GetOptions, 'allowPrivate' | 'timeoutMs' | 'resolve'> {
  apiUrl: string;
  token?: string | undefined;
}

/** A tree of some ten thousand files. No repository of skills has more. */
const MAX_BYTES = 4_000_000;

const Tree = z.object({
  tree: z.array(z.object({ path: z.string(), type: z.string() })),
  truncated: z.boolean().default(false),
});

const Facts = z.object({
  stargazers_count: z.int().min(0).max(2_147_483_647),
  pushed_at: z.iso.datetime({ offset: true }).nullish(),
});

/** The spellings in package.json files: https, git+https, git, ssh, `github:owner/repository`, with or without .git. */
const WRITTEN =
  /^(?:(?:git\+)?(?:https?|git|ssh):\/\/(?:git@)?github\.com\/|git@github\.com:|github:)([\w.-]{1,100})\/([\w.-]{1,100}?)(?:\.git)?\/?(?:[#?].*)?$/i;

export function createGitHubHost({ apiUrl, token, ...options }: GitHubOptions): RepositoryHost {
  const headers = {
    accept: 'application/vnd.github+json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const get = createGetJson({ ...options, allowPrivateSetting: ALLOW_PRIVATE_SETTING, headers, maxBytes: MAX_BYTES });

  /** Null: the address is not on GitHub, or the repository does not exist. */
  async function ask(repoUrl: string, more: string, signal: AbortSignal): Promise<{ url: URL; json: unknown } | null> {
    const parts = partsOf(repoUrl);
    if (!parts) return null;
    const url = new URL(`repos/${parts.owner}/${parts.name}${more}`, baseUrlOf(apiUrl));
    const found = await get(url, signal);
    return found && { url, json: found.json };
  }

  return {
    addressOf(written) {
      const parts = partsOf(written);
      return parts && `https://github.com/${parts.owner}/${parts.name}`;
    },

    async listSkillFolders(repoUrl, signal) {
      const asked = await ask(repoUrl, '/git/trees/HEAD?recursive=1', signal);
      if (!asked) return null;
      const { tree, truncated } = parseAnswer(Tree, asked.url, asked.json);
      const folders = tree.flatMap(({ path, type }) =>
        type === 'blob' && /(?:^|\/)SKILL\.md$/.test(path) ? [path.replace(/\/?SKILL\.md$/, '')] : [],
      );
      // A truncated tree does not prove that the repository has no skill.
      if (truncated && folders.length === 0) throw sourceUnavailable(asked.url, 'lists a part of the repository alone');
      return folders;
    },

    async findFacts(repoUrl, signal) {
      const asked = await ask(repoUrl, '', signal);
      if (!asked) return null;
      const { stargazers_count: stars, pushed_at: pushedAt } = parseAnswer(Facts, asked.url, asked.json);
      return { stars, lastCommitAt: pushedAt ? new Date(pushedAt) : null };
    },
  };
}

function partsOf(written: string): { owner: string; name: string } | null {
  const [, owner, name] = WRITTEN.exec(written) ?? [];
  // A part of dots alone would climb up in the address.
  if (owner === undefined || name === undefined || /^\.+$/.test(owner) || /^\.+$/.test(name)) return null;
  // GitHub ignores case. One spelling makes one repository.
  return { owner: owner.toLowerCase(), name: name.toLowerCase() };
}
