import { AppError, type FieldError } from '../../../../core/errors.js';

/** What a submission says about where its skill is. */
export interface GivenAddress {
  repoUrl: string;
  skillName: string;
  skillPath?: string | undefined;
  ref?: string | undefined;
}

export interface AddressRules {
  /** `host`, or `host:port` for one that listens elsewhere; an IPv6 address in brackets. */
  hosts: readonly string[];
  /** For tests and development: plain http to this very machine, on any port if its host is listed without one. */
  allowPrivate: boolean;
  /** For `npm run submit` from one's own machine: a folder's absolute path in place of a URL. */
  allowLocal: boolean;
}

export interface RemoteRepository {
  kind: 'remote';
  protocol: 'https' | 'http';
  /** In lower case, an IPv6 address without its brackets. */
  hostname: string;
  port: number;
  /** The first part of the path, as written. */
  owner: string;
  url: string;
}

export type Repository = RemoteRepository | { kind: 'local'; path: string };

export interface CheckedAddress {
  repository: Repository;
  skillName: string;
  /** '' is the repository's root. */
  skillPath: string | undefined;
  ref: string | undefined;
}

/** Longer than any that are in use, short enough for a row, a log line and an argument list. */
const MAX_URL_CHARACTERS = 500;
const MAX_PATH_CHARACTERS = 400;
const MAX_REF_CHARACTERS = 200;

/** Throws one error that names every wrong field and what would be right. */
export function checkedAddress(given: GivenAddress, rules: AddressRules): CheckedAddress {
  const errors: FieldError[] = [];
  function checked<T>(path: string, check: () => T | Wrong): T | undefined {
    const result = check();
    if (!(result instanceof Wrong)) return result;
    errors.push({ path, message: result.message });
    return undefined;
  }
  const repository = checked('repoUrl', () => repositoryOf(given.repoUrl, rules));
  const skillName = checked('skillName', () => skillNameOf(given.skillName));
  const skillPath = checked('skillPath', () =>
    given.skillPath === undefined ? undefined : skillPathOf(given.skillPath),
  );
  const ref = checked('ref', () => (given.ref === undefined ? undefined : refOf(given.ref)));
  if (repository && skillName !== undefined && errors.length === 0) return { repository, skillName, skillPath, ref };
  const sentence = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new AppError('invalid_input', sentence, { errors });
}

/** Whether the owner is one whose skills are taken on trust. A name alone means that name on github.com: on another host anybody
 *  might have registered it, so there an entry names the host too (`git.example.com/owner`). */
export function isVendor(repository: Repository, vendors: readonly string[]): boolean {
  if (repository.kind === 'local') return false;
  const owner = repository.owner.toLowerCase();
  const names =
    repository.hostname === 'github.com' ? [owner, `github.com/${owner}`] : [`${repository.hostname}/${owner}`];
  return vendors.some((vendor) => names.includes(vendor.trim().toLowerCase()));
}

/** The organisation whose repository this is, if it is one whose skills are taken on trust. */
export function vendorIn(repoUrl: string, rules: AddressRules & { vendors: readonly string[] }): string | null {
  const repository = repositoryOf(repoUrl, rules);
  if (repository instanceof Wrong || repository.kind === 'local') return null;
  return isVendor(repository, rules.vendors) ? repository.owner.toLowerCase() : null;
}

/** One spelling for one repository. GitHub takes any case, with `.git` and without; other hosts tell these apart. */
export function canonicalUrl(repository: Repository): string {
  if (repository.kind === 'local') return repository.path;
  if (repository.hostname !== 'github.com') return repository.url;
  return repository.url.toLowerCase().replace(/\.git$/, '');
}

/** What makes two submissions the same. */
export function skillKey({ repository, skillName }: CheckedAddress): string {
  return `${canonicalUrl(repository).replace(/\.git$/, '')} ${skillName.toLowerCase()}`;
}

/** A whole one: an abbreviated one may be the name of a branch. */
export function isCommitId(text: string): boolean {
  return /^[0-9a-f]{40}$|^[0-9a-f]{64}$/i.test(text);
}

/** Why a field is not what it should be, worded to follow its name. */
class Wrong {
  constructor(readonly message: string) {}
}

/** Taken apart by hand: `URL` would mend what is wrong (tabs, `..`, odd spellings of addresses), and git might read it otherwise. */
const REMOTE = /^(https?):\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/([^?#]+?)\/?$/i;

function repositoryOf(text: string, rules: AddressRules): Repository | Wrong {
  if (text.length > MAX_URL_CHARACTERS) return new Wrong(`is longer than ${String(MAX_URL_CHARACTERS)} characters`);
  if (text.startsWith('/')) return localOf(text, rules);
  const [, scheme, host = '', portText, path = ''] = REMOTE.exec(text) ?? [];
  if (scheme === undefined)
    return new Wrong('must be like https://github.com/owner/repository, with nothing before or after it');
  const protocol = scheme.toLowerCase() === 'https' ? 'https' : 'http';
  const hostname = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  const isHere = isLoopback(hostname) && rules.allowPrivate;
  if (protocol === 'http' && !isHere) return new Wrong('must start with https://');
  const standardPort = protocol === 'https' ? 443 : 80;
  const port = portText === undefined ? standardPort : Number(portText);
  if (port < 1 || port > 65_535) return new Wrong('names a port that does not exist');
  if (!isAllowed({ hostname, port, standardPort, isHere }, rules.hosts)) {
    return new Wrong(`must be on one of these hosts: ${rules.hosts.join(', ')}`);
  }
  const parts = path.split('/');
  if (parts.length < 2 || !parts.every(isPlainPart))
    return new Wrong('must name an owner and a repository, in plain letters, digits, dots and dashes');
  if (hostname === 'github.com' && parts.length > 2) {
    return new Wrong('must end with the repository; give the folder as skillPath and the branch as ref');
  }
  const address = port === standardPort ? host.toLowerCase() : `${host.toLowerCase()}:${String(port)}`;
  return { kind: 'remote', protocol, hostname, port, owner: parts[0] ?? '', url: `${protocol}://${address}/${path}` };
}

function isAllowed(
  at: { hostname: string; port: number; standardPort: number; isHere: boolean },
  hosts: readonly string[],
): boolean {
  return hosts.some((entry) => {
    const [, v6, host = v6, port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry.trim().toLowerCase()) ?? [];
    if (host !== at.hostname) return false;
    return port === undefined ? at.isHere || at.port === at.standardPort : Number(port) === at.port;
  });
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
}

/** No percent signs, so nothing that a server decodes into something else. */
function isPlainPart(part: string): boolean {
  return /^[A-Za-z0-9_~][A-Za-z0-9._~-]*$/.test(part);
}

function localOf(path: string, { allowLocal }: AddressRules): Repository | Wrong {
  if (!allowLocal) return new Wrong('is a local folder, which this server does not allow; use an https:// address');
  const parts = path.slice(1).replace(/\/$/, '').split('/');
  if (!parts.every(isPathPart)) return new Wrong("must be a folder's absolute path without . and ..");
  return { kind: 'local', path: `/${parts.join('/')}` };
}

/** As the registry lists it and as it stands in a URL. */
function skillNameOf(text: string): string | Wrong {
  const isName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text);
  return isName
    ? text
    : new Wrong('must be 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or digit');
}

/** What it makes of a path it takes again, and leaves as it is: a stored one is checked once more before it is fetched. */
function skillPathOf(text: string): string | Wrong {
  if (text.length > MAX_PATH_CHARACTERS) return new Wrong(`is longer than ${String(MAX_PATH_CHARACTERS)} characters`);
  const path = text.replace(/(?<=[^/])\/$/, '').replace(/^\.\//, '');
  if (path === '' || path === '.' || path === 'SKILL.md') return '';
  const folder = path.replace(/\/SKILL\.md$/, '');
  if (folder.split('/').every(isPathPart)) return folder;
  return new Wrong(
    "must be the skill's folder inside the repository, such as skills/my-skill, without .., \\ and a leading /",
  );
}

/** What a path may be made of, in an address and in a repository's trees. Control and format characters would hide what it says. */
export function isPathPart(part: string): boolean {
  return !(
    part === '' ||
    part === '.' ||
    part === '..' ||
    /^\.git$/i.test(part) ||
    /[\p{Cc}\p{Cf}\p{Cs}\\/]/u.test(part)
  );
}

/** git's own rules for names of branches and tags, and two of ours: no other kind of ref (a pull request is anybody's) and no
 *  commit id (a host serves those of every fork under the original's address, so the owner would prove nothing). */
function refOf(text: string): string | Wrong {
  if (text.length > MAX_REF_CHARACTERS) return new Wrong(`is longer than ${String(MAX_REF_CHARACTERS)} characters`);
  if (isCommitId(text)) return new Wrong('must be a branch or a tag, not a commit');
  if (text.startsWith('refs/'))
    return new Wrong('must be the name of a branch or a tag, without refs/heads/ or refs/tags/');

  const isForbidden = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|^[-/@]$|^-|\.$|\.lock$/.test(text);
  const isSound =
    !isForbidden && text.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
  return isSound ? text : new Wrong('must be the name of a branch or a tag');
}
