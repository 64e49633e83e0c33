import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ConfigError, projectRoot } from '../src/config.js';
import { loadConfig, listVariableNames } from '../src/start/parts/from-domains.js';
import { prefixOf } from '../src/config/pipeline-overlay.js';
import { stagesIn } from '../src/core/machine.js';
import type { Pipeline } from '../src/core/pipeline.js';
import { DEFAULT_BEATS } from '../src/core/step.js';
import { PIPELINES } from '../src/domains/tables.js';

const SECRET = 'a-secret-of-thirty-two-characters';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('configuration', () => {
  it('needs nothing: without a variable everything is embedded and listens on this machine only', () => {
    const config = loadConfig({});

    expect(config.api).toMatchObject({ host: '127.0.0.1', port: 3000 });
    expect(config.database.url).toBeUndefined();
    expect(config.temporal).toMatchObject({ address: undefined, namespace: 'default', tls: false });
    expect(config.dataDir).toBe(resolve(projectRoot, '.unstuck'));
    expect(config.embedded).toMatchObject({ postgresPort: 5433, temporalPort: 7233, temporalUiPort: 8233, workers: 2 });
  });

  it('names every wrong variable at once, with what was expected', () => {
    const problems = problemsOf({ PORT: 'http', WORKERS: '-1', LOG_LEVEL: 'loud', CANARY_STUCK_AFTER: 'soon' });

    expect(problems).toEqual([
      "LOG_LEVEL: expected one of trace, debug, info, warn, error, fatal, silent, got 'loud'",
      "PORT: expected a port from 1 to 65535, got 'http'",
      "WORKERS: expected a whole number from 0 to 64, got '-1'",
      "CANARY_STUCK_AFTER: expected a span of time such as 15s or 3m, got 'soon'",
    ]);
  });

  it.each([
    ['0', false],
    ['1', true],
    ['65535', true],
    ['65536', false],
    ['30.5', false],
    ['', true],
  ])('takes %o as a port: %o', (PORT, isTaken) => {
    expect(problemsOf({ PORT })).toHaveLength(isTaken ? 0 : 1);
  });

  it('never repeats the value of a secret', () => {
    const problems = problemsOf({ JWT_SECRET: 'short-secret', DATABASE_URL: 'mysql://user:hunter2@db/unstuck' });

    expect(problems).toHaveLength(2);
    expect(problems.join()).not.toMatch(/short-secret|hunter2/);
  });

  it('takes an empty variable for one that is not set', () => {
    expect(loadConfig({ PORT: '', DATABASE_URL: '', JWT_SECRET: '' })).toEqual(loadConfig({}));
  });

  it('uses DATABASE_URL for direct sessions unless another is named', () => {
    const url = 'postgresql://u:p@db:5432/unstuck';
    const direct = 'postgresql://u:p@db:6432/unstuck';

    expect(loadConfig({ DATABASE_URL: url }).database.directUrl).toBe(url);
    expect(loadConfig({ DATABASE_URL: url, DATABASE_DIRECT_URL: direct }).database.directUrl).toBe(direct);
  });

  it('overlays only the thresholds that are set', () => {
    const { canary: given } = loadConfig({ CANARY_STUCK_AFTER: '3m', CANARY_RESCUE_BACKOFF: '1s, 2m' }).pipelines;

    expect(given?.sweep).toEqual({ every: undefined, staleAfter: undefined, stuckAfter: '3m' });
    expect(given?.rescue).toEqual({ budget: undefined, backoff: ['1s', '2m'] });
  });
});

describe('a heartbeat timeout', () => {
  it.each(['1999ms', '1s', '0s', 'often'])('is refused as %s, with the values that are allowed', (CANARY_BEATS) => {
    expect(problemsOf({ CANARY_BEATS })).toEqual([
      'CANARY_BEATS: expected a span of time of at least 2s, or nothing for what the table says, ' +
        `because a frozen worker keeps its locks for 1.5 s, got '${CANARY_BEATS}'`,
    ]);
  });

  it('may be 2 s, as the canary has it', () => {
    expect(loadConfig({ CANARY_BEATS: '2s' }).pipelines['canary']?.beats).toBe('2s');
  });
});

describe('in production with a database of its own', () => {
  const production = { NODE_ENV: 'production', DATABASE_URL: 'postgresql://u:p@db:5432/unstuck' };

  it('refuses to start when nothing says how tokens are checked', () => {
    expect(problemsOf(production)).toEqual([expect.stringContaining('JWT_SECRET: expected in production')]);
  });

  it.each([{ JWT_SECRET: SECRET }, { JWT_JWKS_URL: 'https://issuer.example/keys' }])('starts with %o', (auth) => {
    expect(problemsOf({ ...production, ...auth })).toEqual([]);
  });

  it('refuses a secret and published keys together, since a token could then be checked by either', () => {
    const both = { JWT_SECRET: SECRET, JWT_JWKS_URL: 'https://issuer.example/keys' };

    expect(problemsOf({ ...production, ...both })).toEqual([expect.stringContaining('got both')]);
  });
});

describe('the numbers of deaths', () => {
  it('are at least one, so that a task that never crashed is no suspect', () => {
    expect(problemsOf({ SUSPECT_DEATHS: '0', POISON_DEATHS: '0' })).toEqual([
      "SUSPECT_DEATHS: expected a whole number from 1 to 1000, got '0'",
      "POISON_DEATHS: expected a whole number from 1 to 1000, got '0'",
    ]);
  });
});

describe('notifications', () => {
  const secret = `whsec_${Buffer.alloc(32, 'x').toString('base64')}`;

  it('need nothing: without a channel there is the log', () => {
    expect(loadConfig({}).notify).toMatchObject({
      allowPrivate: false,
      tries: 20,
      firstWaitMs: 5_000,
      smtp: { to: [] },
    });
  });

  it('take several operators', () => {
    const { smtp } = loadConfig({
      SMTP_URL: 'smtps://mail.example.com',
      SMTP_FROM: 'unstuck@example.com',
      NOTIFY_EMAIL_TO: 'a@example.com, b@example.com',
    }).notify;

    expect(smtp.to).toEqual(['a@example.com', 'b@example.com']);
  });

  it.each([
    [{ NOTIFY_WEBHOOK_URL: 'https://hooks.example.com' }, 'NOTIFY_WEBHOOK_SECRET: expected beside NOTIFY_WEBHOOK_URL'],
    [{ NOTIFY_WEBHOOK_SECRET: secret }, 'NOTIFY_WEBHOOK_URL: expected beside NOTIFY_WEBHOOK_SECRET'],
    [{ SMTP_URL: 'smtp://mail' }, 'SMTP_FROM: expected beside SMTP_URL'],
    [{ SMTP_FROM: 'a@b.c' }, 'SMTP_URL: expected beside SMTP_FROM'],
    [{ NOTIFY_EMAIL_TO: 'a@b.c' }, 'SMTP_URL: expected beside NOTIFY_EMAIL_TO'],
    [{ NOTIFY_EMAIL_TO: 'a@b.c, nobody' }, 'NOTIFY_EMAIL_TO: expected mail addresses with commas between them'],
    [{ NOTIFY_ALLOW_PRIVATE: 'yes' }, "NOTIFY_ALLOW_PRIVATE: expected one of true, false, got 'yes'"],
  ])('refuse half a channel or a wrong one: %o', (given, problem) => {
    expect(problemsOf(given)).toEqual([expect.stringContaining(problem)]);
  });

  it.each(['whsec_', 'whsec_c2hvcnQ=', secret.slice(6), `${secret}!`, `whsec_${Buffer.alloc(65).toString('base64')}`])(
    'refuse the secret %s',
    (NOTIFY_WEBHOOK_SECRET) => {
      const problems = problemsOf({ NOTIFY_WEBHOOK_URL: 'https://hooks.example.com', NOTIFY_WEBHOOK_SECRET });
      expect(problems).toEqual(['NOTIFY_WEBHOOK_SECRET: expected whsec_ and the base64 of 24 to 64 random bytes']);
    },
  );

  it('never show an address that lets its reader post, or a password', () => {
    const problems = problemsOf({
      NOTIFY_WEBHOOK_URL: 'ftp://hooks.example.com/token-1',
      SLACK_WEBHOOK_URL: 'hooks.slack.example/token-2',
      SMTP_URL: 'imap://ops:token-3@mail.example.com',
    });

    expect(problems).toHaveLength(3);
    expect(problems.join()).not.toMatch(/token/);
  });
});

describe('TLS to Temporal', () => {
  it.each([
    [{ TEMPORAL_TLS_SERVER_NAME: 'temporal.example' }, 'TEMPORAL_ADDRESS: expected beside TEMPORAL_TLS_SERVER_NAME'],
    [{ TEMPORAL_ADDRESS: 'a:1', TEMPORAL_TLS_CLIENT_CERT_PATH: 'nowhere.pem' }, 'readable PEM file with a certificate'],
  ])('is refused when it is set up by half or names a wrong file: %o', (given, problem) => {
    expect(problemsOf(given)).toEqual([expect.stringContaining(problem)]);
  });
});

describe('the blob store', () => {
  const azure = {
    BLOB_STORE: 'azure',
    AZURE_STORAGE_CONNECTION_STRING: 'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5',
    AZURE_STORAGE_CONTAINER: 'blobs',
  };
  const s3 = { BLOB_STORE: 's3', S3_BUCKET: 'blobs', S3_REGION: 'eu-central-1' };

  it('is the folder blobs in the data folder, for every process of npm start', () => {
    const folder = resolve(projectRoot, '.unstuck/blobs');
    expect(loadConfig({}).blobs).toEqual({ kind: 'disk', folder, isNamed: false });
    expect(loadConfig({ DATA_DIR: '/data' }).blobs).toMatchObject({ folder: '/data/blobs' });
    expect(loadConfig({ BLOB_FOLDER: 'shared' }).blobs).toMatchObject({ folder: resolve(projectRoot, 'shared') });
  });

  it('is the chosen one, with what belongs to it', () => {
    const keys = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' };
    expect(loadConfig(azure).blobs).toMatchObject({ kind: 'azure', container: 'blobs' });
    expect(loadConfig(s3).blobs).toMatchObject({
      kind: 's3',
      endpoint: undefined,
      keys: undefined,
      forcePathStyle: false,
    });
    expect(
      loadConfig({ ...s3, ...keys, S3_ENDPOINT: 'http://127.0.0.1:9000', S3_FORCE_PATH_STYLE: 'true' }).blobs,
    ).toEqual({
      ...{ kind: 's3', bucket: 'blobs', region: 'eu-central-1', endpoint: 'http://127.0.0.1:9000' },
      ...{ keys: { accessKeyId: 'id', secretAccessKey: 'secret' }, forcePathStyle: true },
    });
  });

  it.each([
    [{ BLOB_STORE: 'tape' }, 'BLOB_STORE: expected one of disk, azure, s3'],
    [{ ...azure, AZURE_STORAGE_CONTAINER: '' }, 'AZURE_STORAGE_CONTAINER: expected beside BLOB_STORE=azure'],
    [
      { ...azure, AZURE_STORAGE_CONNECTION_STRING: '' },
      'AZURE_STORAGE_CONNECTION_STRING: expected beside BLOB_STORE=azure',
    ],
    [{ ...azure, AZURE_STORAGE_CONTAINER: 'Blobs' }, 'AZURE_STORAGE_CONTAINER: expected the name of a container'],
    [
      { ...azure, AZURE_STORAGE_CONNECTION_STRING: 'hunter2' },
      'AZURE_STORAGE_CONNECTION_STRING: expected the connection',
    ],
    [{ ...s3, S3_BUCKET: '' }, 'S3_BUCKET: expected beside BLOB_STORE=s3, so that blobs can be kept there, got none'],
    [{ ...s3, S3_REGION: '' }, 'S3_REGION: expected beside BLOB_STORE=s3'],
    [{ ...s3, S3_ACCESS_KEY_ID: 'id' }, 'S3_SECRET_ACCESS_KEY: expected beside S3_ACCESS_KEY_ID'],
    [{ ...s3, S3_SECRET_ACCESS_KEY: 'hunter2' }, 'S3_ACCESS_KEY_ID: expected beside S3_SECRET_ACCESS_KEY'],
    [{ ...s3, S3_ENDPOINT: 'localhost:9000' }, 'S3_ENDPOINT: expected a URL'],
    [{ S3_BUCKET: 'blobs' }, 'BLOB_STORE: expected s3 beside S3_BUCKET, got disk'],
    [{ ...azure, S3_BUCKET: 'blobs' }, 'BLOB_STORE: expected s3 beside S3_BUCKET, got azure'],
    [{ ...s3, AZURE_STORAGE_CONTAINER: 'blobs' }, 'BLOB_STORE: expected azure beside AZURE_STORAGE_CONTAINER, got s3'],
  ])('is refused when it is set up by half or for another store: %o', (given, problem) => {
    expect(problemsOf(given)).toEqual([expect.stringContaining(problem)]);
    expect(problemsOf(given).join()).not.toContain('hunter2');
  });
});

describe('two servers on one port', () => {
  it('are refused before either starts', () => {
    expect(problemsOf({ PORT: '5433' })).toEqual([expect.stringMatching(/^POSTGRES_PORT: .*5433/)]);
  });

  it('are no problem when one of them is not ours', () => {
    expect(problemsOf({ PORT: '5433', DATABASE_URL: 'postgresql://u:p@db:5432/unstuck' })).toEqual([]);
  });
});

describe('.env.example', () => {
  const text = readFileSync(resolve(projectRoot, '.env.example'), 'utf8');
  const listed = parseEnv(text) as Record<string, string>;

  it('lists exactly the variables that are read', () => {
    expect(Object.keys(listed).sort()).toEqual(listVariableNames().sort());
  });

  it('gives every default as it is', () => {
    expect(loadConfig(listed)).toEqual(loadConfig({}));
  });

  it.each<[string, Pipeline]>(Object.values<Pipeline>(PIPELINES).map((table) => [prefixOf(table.name), table]))(
    'says of every variable of %s* what the table holds',
    (prefix, { sweep, rescue, states, livePerOwner }) => {
      const beats = new Set(
        Object.values(states)
          .flatMap(stagesIn)
          .map((stage) => stage.beats ?? DEFAULT_BEATS),
      );
      const shown = {
        ...{ SWEEP_EVERY: sweep.every, STALE_AFTER: sweep.staleAfter, STUCK_AFTER: sweep.stuckAfter },
        BEATS: [...beats].join(),
        ...{ RESCUE_BUDGET: rescue.budget, RESCUE_BACKOFF: rescue.backoff.join(',') },
        ...{ RESCUE_FORGOTTEN_AFTER: rescue.budgetResetAfter, RESCUE_OLDEST: rescue.oldestRescued },
        MAX_LIVE_PER_OWNER: livePerOwner,
      };

      for (const [name, value] of Object.entries(shown)) {
        expect(text).toMatch(new RegExp(`\\(${value}\\).*\\n${prefix}${name}=`));
      }
    },
  );

  it('says of every variable, or of the group that it stands in, what it does', () => {
    const groups = text.split('\n\n').slice(1);
    for (const group of groups) expect(group).toMatch(/^# --- .+ ---\n#/);
    const lines = text.split('\n');
    // Variables below one another share the comment above the first of them.
    const commentOf = (at: number): string => {
      const above = lines[at - 1] ?? '';
      return /^[A-Z]/.test(above) ? commentOf(at - 1) : above;
    };
    const uncommented = lines.filter((line, at) => /^[A-Z]/.test(line) && !/^# (?!---)/.test(commentOf(at)));
    expect(uncommented).toEqual([]);
  });
});
