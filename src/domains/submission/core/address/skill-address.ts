import { AppError, type FieldError } from '../../../../core/errors.js';

/** The address of a skill as a submission gives it. */
export interface GivenAddress {
  repoUrl: string;
  skillName: string;
  skillPath?: string | undefined;
  ref?: string | undefined;
}

export interface AddressRules {
  /** `host`, or `host:port` for a port that is not the standard one; an IPv6 address in brackets. */
  hosts: readonly string[];
  /** For tests and development: allows plain http to this machine, on any port where `hosts` lists its name without a
   *  port. */
  allowPrivate: boolean;
  /** For `npm run submit` on the developer's machine: allows a folder's absolute path in place of a URL. */
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

/** Longer than any address in use, and short enough for a row, a log line and an argument list. */
const MAX_URL_CHARACTERS = 500;
const MAX_PATH_CHARACTERS = 400;
const MAX_REF_CHARACTERS = 200;

/** Throws one error that names every wrong field and its correct form. */
export function checkAddress(given: GivenAddress, rules: AddressRules): CheckedAddress {
  const errors: FieldError[] = [];
  function check<T>(path: string, parse: () => T | Wrong): T | undefined {
    const result = parse();
    if (!(result instanceof Wrong)) return result;
    errors.push({ path, message: result.message });
    return undefined;
  }
  const repository = check('repoUrl', () => repositoryOf(given.repoUrl, rules));
  const skillName = check('skillName', () => skillNameOf(given.skillName));
  const skillPath = check('skillPath', () =>
    given.skillPath === undefined ? undefined : skillPathOf(given.skillPath),
  );
  const ref = check('ref', () => (given.ref === undefined ? undefined : refOf(given.ref)));
  if (repository && skillName !== undefined && errors.length === 0) return { repository, skillName, skillPath, ref };
  const sentence = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new AppError('invalid_input', sentence, { errors });
}

/** Whether the owner is a vendor: an organisation whose skills are taken on trust. A name alone means the owner on
 *  github.com. On another host anybody might have registered the name, so an entry for that host names it too
 *  (`git.example.com/owner`). */
export function isVendor(repository: Repository, vendors: readonly string[]): boolean {
  if (repository.kind === 'local') return false;
  const owner = repository.owner.toLowerCase();
  const names =
    repository.hostname === 'github.com' ? [owner, `github.com/${owner}`] : [`${repository.hostname}/${owner}`];
  return vendors.some((vendor) => names.includes(vendor.trim().toLowerCase()));
}

/** The owner of the repository if it is a vendor, otherwise null. */
export function vendorIn(repoUrl: string, rules: AddressRules & { vendors: readonly string[] }): string | null {
  const repository = repositoryOf(repoUrl, rules);
  if (repository instanceof Wrong || repository.kind === 'local') return null;
  return isVendor(repository, rules.vendors) ? repository.owner.toLowerCase() : null;
}

/** One spelling for one repository. GitHub ignores case and a final `.git`; other hosts may serve different
 *  repositories there. */
export function canonicalUrl(repository: Repository): string {
  if (repository.kind === 'local') return repository.path;
  if (repository.hostname !== 'github.com') return repository.url;
  return repository.url.toLowerCase().replace(/\.git$/, '');
}

/** Two submissions with the same key are about the same skill. */
export function skillKey({ repository, skillName }: CheckedAddress): string {
  return `${canonicalUrl(repository).replace(/\.git$/, '')} ${skillName.toLowerCase()}`;
}

/** Only a whole id counts, because an abbreviated id may be the name of a branch. */
export function isCommitId(text: string): boolean {
  return /^[0-9a-f]{40}$|^[0-9a-f]{64}$/i.test(text);
}

/** The fault of a field, worded to follow the field's name. */
class Wrong {
  constructor(readonly message: string) {}
}

/** Parsed by hand, because `URL` would repair a bad address (tabs, `..`, odd spellings of IP addresses), and git might
 *  read it differently. */
const REMOTE = /^(https?):\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/([^?#]+?)\/?$/i;

function repositoryOf(text: string, rules: AddressRules): Repository | Wrong {
  if (text.length > MAX_URL_CHARACTERS) return new Wrong(`is longer than ${MAX_URL_CHARACTERS} characters`);
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
  const address = port === standardPort ? host.toLowerCase() : `${host.toLowerCase()}:${port}`;
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

/** Percent signs are refused, because a server would decode them into other characters. */
function isPlainPart(part: string): boolean {
  return /^[A-Za-z0-9_~][A-Za-z0-9._~-]*$/.test(part);
}

function localOf(path: string, { allowLocal }: AddressRules): Repository | Wrong {
  if (!allowLocal) return new Wrong('is a local folder, which this server does not allow; use an https:// address');
  const parts = path.slice(1).replace(/\/$/, '').split('/');
  if (!parts.every(isPathPart)) return new Wrong("must be a folder's absolute path without . and ..");
  return { kind: 'local', path: `/${parts.join('/')}` };
}

/** The name must fit the registry's list and a URL. */
function skillNameOf(text: string): string | Wrong {
  const isName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text);
  return isName
    ? text
    : new Wrong('must be 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or digit');
}

/** The result passes this check again unchanged, because a stored path is checked once more before it is fetched. */
function skillPathOf(text: string): string | Wrong {
  if (text.length > MAX_PATH_CHARACTERS) return new Wrong(`is longer than ${MAX_PATH_CHARACTERS} characters`);
  const path = text.replace(/(?<=[^/])\/$/, '').replace(/^\.\//, '');
  if (path === '' || path === '.' || path === 'SKILL.md') return '';
  const folder = path.replace(/\/SKILL\.md$/, '');
  if (folder.split('/').every(isPathPart)) return folder;
  return new Wrong(
    "must be the skill's folder inside the repository, such as skills/my-skill, without .., \\ and a leading /",
  );
}

/** Whether a name may be part of a path, in an address and in a repository's trees. Control and format characters would
 *  hide the rest of the name. */
export function isPathPart(part: string): boolean {
  return !(
    part === '' ||
    part === '.' ||
    part === '..' ||
    /^\.git$/i.test(part) ||
    /[\p{Cc}\p{Cf}\p{Cs}\\/]/u.test(part)
  );
}

/** git's own rules for the names of branches and tags, and two more. Other kinds of ref are refused, because anybody
 *  can open a pull request. Commit ids are refused, because a host serves the commits of every fork under the
 *  original's address, so the owner in the address would prove nothing. */
function refOf(text: string): string | Wrong {
  if (text.length > MAX_REF_CHARACTERS) return new Wrong(`is longer than ${MAX_REF_CHARACTERS} characters`);
  if (isCommitId(text)) return new Wrong('must be a branch or a tag, not a commit');
  if (text.startsWith('refs/'))
    return new Wrong('must be the name of a branch or a tag, without refs/heads/ or refs/tags/');

  const isForbidden = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|^[-/@]$|^-|\.$|\.lock$/.test(text);
  const isSound =
    !isForbidden && text.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
  return isSound ? text : new Wrong('must be the name of a branch or a tag');
}
