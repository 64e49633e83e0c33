import { resolve } from 'node:path';
import { z } from 'zod';
import type { EngineSettings } from './settings.js';
import { oneOf, text, webUrl } from './values.js';

/** Where blobs are kept. A split installation has one store for all its processes. */
export const blobShape = {
  BLOB_STORE: oneOf('disk', 'azure', 's3').default('disk'),
  BLOB_FOLDER: z.string().optional(),
  AZURE_STORAGE_CONNECTION_STRING: text('the connection string of an Azure storage account', isConnection).optional(),
  AZURE_STORAGE_CONTAINER: text('the name of a container: 3 to 63 small letters, digits and single hyphens', (value) =>
    /^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/.test(value),
  ).optional(),
  S3_BUCKET: text('the name of a bucket: 3 to 63 small letters, digits, dots and hyphens', (value) =>
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value),
  ).optional(),
  S3_REGION: text('the name of a region, such as eu-central-1', (value) => /^[a-z0-9-]{1,64}$/.test(value)).optional(),
  S3_ENDPOINT: webUrl.optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  S3_FORCE_PATH_STYLE: oneOf('true', 'false').default('false'),
};

export const BLOB_SECRETS = ['AZURE_STORAGE_CONNECTION_STRING', 'S3_SECRET_ACCESS_KEY'];

export type BlobSettings =
  /** `isNamed`: by BLOB_FOLDER, and not the folder that comes with DATA_DIR. */
  | { kind: 'disk'; folder: string; isNamed: boolean }
  | { kind: 'azure'; connectionString: string; container: string }
  | {
      kind: 's3';
      bucket: string;
      region: string;
      endpoint: string | undefined;
      keys: { accessKeyId: string; secretAccessKey: string } | undefined;
      forcePathStyle: boolean;
    };

export function blobSettingsOf(given: EngineSettings, projectRoot: string): BlobSettings {
  if (given.BLOB_STORE === 'azure') {
    const { AZURE_STORAGE_CONNECTION_STRING: connectionString = '', AZURE_STORAGE_CONTAINER: container = '' } = given;
    return { kind: 'azure', connectionString, container };
  }
  if (given.BLOB_STORE === 's3') {
    const { S3_BUCKET: bucket = '', S3_REGION: region = '', S3_ENDPOINT: endpoint } = given;
    const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = given;
    const keys = accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined;
    return { kind: 's3', bucket, region, endpoint, keys, forcePathStyle: given.S3_FORCE_PATH_STYLE === 'true' };
  }
  const isNamed = given.BLOB_FOLDER !== undefined;
  return { kind: 'disk', folder: resolve(projectRoot, given.BLOB_FOLDER ?? `${given.DATA_DIR}/blobs`), isNamed };
}

const NEEDED = {
  disk: [],
  azure: ['AZURE_STORAGE_CONNECTION_STRING', 'AZURE_STORAGE_CONTAINER'],
  s3: ['S3_BUCKET', 'S3_REGION'],
} as const;

/** Settings that make sense with one store alone. The connection string is not among them, because the tools of Azure read it too, and
 *  the folder is not, because docker-compose.yml names one in any case. */
const USED_BY = {
  disk: [],
  azure: ['AZURE_STORAGE_CONTAINER'],
  s3: ['S3_BUCKET', 'S3_REGION', 'S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
} as const;

/** A setting for another store than the chosen one says that somebody believes blobs to be there. */
export function blobProblemsIn(given: EngineSettings): string[] {
  const store = given.BLOB_STORE;
  const missing = NEEDED[store].filter((name) => given[name] === undefined);
  const unused = Object.entries(USED_BY).flatMap(([other, names]) =>
    other === store ? [] : names.filter((name) => given[name] !== undefined).map((name) => ({ name, other })),
  );
  const halves = [
    ['S3_SECRET_ACCESS_KEY', 'S3_ACCESS_KEY_ID'],
    ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
  ] as const;
  const half = halves.filter(([one, other]) => given[one] === undefined && given[other] !== undefined);
  return [
    ...missing.map((name) => `${name}: expected beside BLOB_STORE=${store}, so that blobs can be kept there, got none`),
    ...half.map(([one, other]) => `${one}: expected beside ${other}, because a key has two parts, got none`),
    ...unused.map(({ name, other }) => `BLOB_STORE: expected ${other} beside ${name}, got ${store}`),
  ];
}

/** The two forms that the SDK takes: with the account's key, and with a signature. */
const CONNECTIONS = [
  ['DefaultEndpointsProtocol', 'AccountName', 'AccountKey'],
  ['BlobEndpoint', 'SharedAccessSignature'],
];

function isConnection(value: string): boolean {
  return CONNECTIONS.some((parts) => parts.every((part) => new RegExp(`(^|;)${part}=[^;]+`).test(value)));
}
