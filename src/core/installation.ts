/** Where a database is. A copy of the database is in another place, unless the files of the whole server were copied. */
export interface DatabasePlace {
  /** The system identifier of the server. Null: the server does not tell it. */
  cluster: string | null;
  oid: string;
}

/** An installation is one database with the processes that use it. */
export interface Identity extends DatabasePlace {
  id: string;
  /** Stands before its names in Temporal; '' for none. Null: no process of it was admitted to a namespace yet. */
  name: string | null;
}

/** The installation of a process, for every call to Temporal. */
export interface Membership {
  /** Stands before its names in Temporal; '' for none. */
  name: string;
  /** Undefined: runs carry no id, and every run under our names counts as ours. Throws while it is not known whether the installation
   *  may use the namespace. */
  id(): string | undefined;
}

/** The membership of a program that is alone in its namespace. */
export const NO_MEMBERSHIP: Membership = { name: '', id: () => undefined };

/** The key of the installation's id in the memo of runs and of the actions of schedules. */
export const INSTALLATION_MEMO = 'installation';

/** Carried by the arguments of activities. Left out: a version before the id started the run. */
export interface OfInstallation {
  installation?: string;
}

/** A queue, schedule or run as Temporal knows it. No name of ours contains a dot, so two installations never share a name. */
export function nameIn(installation: string, plain: string): string {
  return installation === '' ? plain : `${installation}.${plain}`;
}

/** The plain name; null: it is a name of another installation. */
export function plainNameIn(installation: string, name: string): string | null {
  const prefix = nameIn(installation, '');
  return name.startsWith(prefix) ? name.slice(prefix.length) : null;
}

/** A run or schedule without an id is from an older version, and so it may be ours. */
export function isForeign(memo: Readonly<Record<string, unknown>> | undefined, own: string | undefined): boolean {
  const theirs = installationIn(memo);
  return own !== undefined && theirs !== undefined && theirs !== own;
}

export function installationIn(memo: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const id = memo?.[INSTALLATION_MEMO];
  return typeof id === 'string' ? id : undefined;
}

/** A copy and its original with one id would drive the same runs. Null: the database is no copy. */
export function copyProblem({ id, cluster, oid }: Identity, here: DatabasePlace): string | null {
  const isSameServer = cluster === null || here.cluster === null || cluster === here.cluster;
  if (isSameServer && oid === here.oid) return null;
  return (
    `this database is a copy: installation ${id} was set up in ${placeText({ cluster, oid })}, and this is ${placeText(here)}. ` +
    'If the original is still in use, run npm run installation -- new. ' +
    'If the database has moved here and the original is never used again, run npm run installation -- moved.'
  );
}

function placeText({ cluster, oid }: DatabasePlace): string {
  return `database ${oid} of server ${cluster ?? 'unknown'}`;
}

/** Processes that know one item's run by two names would start two runs. */
export function nameProblem({ name }: Identity, configured: string): string | null {
  if (name === null || name === configured) return null;
  const [is, remedy] = [settingText(configured), name === '' ? 'Unset INSTALLATION' : `Set INSTALLATION=${name}`];
  const before = name === '' ? 'without a name' : `under the name ${name}`;
  return (
    `INSTALLATION is ${is}, and the runs of this database are in Temporal ${before}. ${remedy}. ` +
    'To give it other names, stop all its processes and run npm run installation -- rename.'
  );
}

export function namesText({ name }: Identity): string {
  if (name === null) return 'not used in Temporal yet';
  return name === '' ? 'without a name' : `named ${name}`;
}

function settingText(name: string): string {
  return name === '' ? 'not set' : name;
}

/** A schedule under our name that belongs to another installation. */
export interface ForeignSchedule {
  schedule: string;
  installation: string;
}

export function foreignProblem(
  { schedule, installation }: ForeignSchedule,
  own: { id: string; name: string; namespace: string },
): string {
  const remedy = own.name === '' ? 'names of its own with INSTALLATION=<name>' : 'another name with INSTALLATION';
  return (
    `the schedule ${schedule} in the namespace ${own.namespace} belongs to installation ${installation}, ` +
    `and this database is installation ${own.id}. ` +
    `Give this installation a namespace of its own with TEMPORAL_NAMESPACE, or ${remedy}.`
  );
}
