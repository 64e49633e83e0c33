import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { StartError } from './start-error.js';

/** How to run Postgres, which refuses to run as root. */
export type PostgresAccount =
  | { kind: 'own' }
  /** Drops to another account: real separation, so it is tried first. */
  | { kind: 'other'; uid: number; gid: number }
  /** A user namespace in which we are not root: keeps working under a folder that only root may enter. */
  | { kind: 'namespace' };

const namespaceCommand = ['unshare', '--user', '--map-user=1000', '--map-group=1000'];

export function choosePostgresAccount(nativeDir: string, dataDir: string): PostgresAccount {
  if (process.getuid?.() !== 0) return { kind: 'own' };
  const account = findAccount();
  const needed = [
    join(nativeDir, 'bin/postgres'),
    join(nativeDir, 'lib'),
    join(nativeDir, 'share/postgresql'),
    dirname(dataDir),
  ];
  if (account && needed.every((path) => canReach(path, account))) return { kind: 'other', ...account };
  if (spawnSync(namespaceCommand[0] as string, [...namespaceCommand.slice(1), 'true']).status === 0)
    return { kind: 'namespace' };
  throw new StartError(
    `cannot start: Postgres does not run as root, and no other account can enter ${dirname(dataDir)} and ${nativeDir}. ` +
      'Start as an ordinary user, move the project (or DATA_DIR) to a folder that others may enter, or set DATABASE_URL.',
  );
}

/** Command, arguments and spawn options that run `command` under the account. */
export function asAccount(account: PostgresAccount, command: string, args: string[]) {
  if (account.kind === 'namespace') {
    const [unshare, ...flags] = namespaceCommand as [string, ...string[]];
    return { command: unshare, args: [...flags, command, ...args], options: {} };
  }
  return { command, args, options: account.kind === 'other' ? { uid: account.uid, gid: account.gid } : {} };
}

/** Gives the folder to the account (a folder moved between machines may belong to another account), and lets the account
 *  through the parent folder. */
export function handOver(account: PostgresAccount, dataDir: string, folder: string): void {
  if (account.kind === 'own') return;
  const { uid, gid } = account.kind === 'other' ? account : { uid: 0, gid: 0 };
  if (account.kind === 'other') chmodSync(dataDir, statSync(dataDir).mode | 0o011);
  if (lstatSync(folder).uid !== uid) chownTree(folder, uid, gid);
}

function chownTree(path: string, uid: number, gid: number): void {
  const isFolder = lstatSync(path).isDirectory();
  if (isFolder) for (const name of readdirSync(path)) chownTree(join(path, name), uid, gid);
  if (!lstatSync(path).isSymbolicLink()) chownSync(path, uid, gid);
}

function findAccount(): { uid: number; gid: number } | undefined {
  const lines = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const found = ['postgres', 'nobody'].map((name) => lines.find((fields) => fields[0] === name)).find(Boolean);
  return found && { uid: Number(found[2]), gid: Number(found[3]) };
}

/** Reads mode bits only. An ACL that grants more is missed, and then the user namespace is used. */
function canReach(path: string, account: { uid: number; gid: number }): boolean {
  let current = resolve(path);
  if (!mayEnter(current, account)) return false;
  while (current !== dirname(current)) {
    current = dirname(current);
    if (!mayEnter(current, account)) return false;
  }
  return true;
}

function mayEnter(path: string, { uid, gid }: { uid: number; gid: number }): boolean {
  const { mode, uid: owner, gid: group } = statSync(path);
  if (owner === uid) return (mode & 0o100) !== 0;
  if (group === gid) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}
