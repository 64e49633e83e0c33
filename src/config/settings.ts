import { z } from 'zod';
import { DEFAULT_DEATHS } from '../core/deaths.js';
import { isMailAddress } from '../core/mail-address.js';
import { BLOB_SECRETS, blobShape } from './blob-settings.js';
import {
  keptText,
  mailAddresses,
  memoryText,
  oneOf,
  pemFile,
  port,
  postgresUrl,
  spanText,
  text,
  trustedProxies,
  url,
  webhookSecret,
  webUrl,
  whole,
} from './values.js';

/** The engine's own variables; `config.ts` adds those of the domains. */
export const engineSettings = z.object({
  NODE_ENV: oneOf('development', 'production', 'test').default('development'),
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info'),
  DATA_DIR: z.string().default('.unstuck'),

  HOST: z.string().default('127.0.0.1'),
  PORT: port().default(3000),
  // Ten a second: a console that polls five panels every second and a script beside it; far below what one process can do.
  RATE_LIMIT_PER_MINUTE: whole(1, 1_000_000).default(600),
  // Without a proxy in front, every caller could name another's address.
  TRUST_PROXY: trustedProxies.optional(),
  METRICS_PORT: port().optional(),
  // A megabyte. Larger content is uploaded, not posted.
  BODY_LIMIT_BYTES: whole(1_024, 100_000_000).default(1_048_576),
  // A loop that is late by half a second on average makes every answer at least that late. 0: no request is shed.
  EVENT_LOOP_MAX_DELAY_MS: whole(0, 60_000).default(500),
  // An hour: long enough to mend something, short enough that a forgotten pause is not found out the next day.
  PAUSE_DEFAULT: spanText.default('1h'),
  PAUSE_MAX: spanText.default('24h'),
  // A stream costs a socket and some kilobytes; a thousand are far below what a process holds, and one person's tabs below twenty.
  EVENTS_MAX_STREAMS: whole(1, 100_000).default(1_000),
  EVENTS_MAX_STREAMS_PER_CALLER: whole(1, 100_000).default(20),

  JWT_SECRET: text('at least 32 characters', (value) => value.length >= 32).optional(),
  JWT_JWKS_URL: webUrl.optional(),
  JWT_ISSUER: z.string().optional(),
  JWT_AUDIENCE: z.string().optional(),
  STATUS_LINK_SECRET: text('at least 32 characters', (value) => value.length >= 32).optional(),
  PUBLIC_URL: webUrl.optional(),

  DATABASE_URL: postgresUrl.optional(),
  DATABASE_DIRECT_URL: postgresUrl.optional(),
  // Ten for each process, with a dozen processes, stay below the 200 that the embedded server and the compose file allow.
  DB_POOL_SIZE: whole(1, 1_000).default(10),
  // Not 5432, where a developer's own Postgres listens.
  POSTGRES_PORT: port().default(5433),

  TEMPORAL_ADDRESS: text('host:port, such as 127.0.0.1:7233', (value) => /^\S+:\d{1,5}$/.test(value)).optional(),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  // Task queues, schedules and workflow ids begin with it, and a dot ends it.
  INSTALLATION: text('a name of up to 40 small letters, digits and hyphens that begins with a letter', (value) =>
    /^[a-z][a-z0-9-]{0,39}$/.test(value),
  ).default(''),
  TEMPORAL_TLS: oneOf('true', 'false').default('false'),
  // The names that the temporal CLI and Temporal's SDKs have for these.
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: pemFile('CERTIFICATE').optional(),
  TEMPORAL_TLS_CLIENT_CERT_PATH: pemFile('CERTIFICATE').optional(),
  TEMPORAL_TLS_CLIENT_KEY_PATH: pemFile('PRIVATE KEY').optional(),
  TEMPORAL_TLS_SERVER_NAME: text('a host name, such as temporal.example.com', (value) =>
    /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(value),
  ).optional(),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_CLI_PATH: z.string().optional(),
  TEMPORAL_PORT: port().default(7233),
  TEMPORAL_UI_PORT: port().default(8233),
  TEMPORAL_UI_URL: webUrl.optional(),

  ...blobShape,

  WORKERS: whole(0, 64).default(2),
  WORKER_NAME: z.string().optional(),
  // Stages mostly wait for others; a hundred keep a process busy and its memory below a gigabyte.
  WORKER_MAX_ACTIVITIES: whole(1, 10_000).default(100),
  // One death may be chance. At 1 every task that was running at a worker's death costs a process of its own.
  SUSPECT_DEATHS: whole(1, 1_000).default(DEFAULT_DEATHS.suspect),
  // One of three deaths may be the kernel, short of memory.
  POISON_DEATHS: whole(1, 1_000).default(DEFAULT_DEATHS.poison),
  // A process for one stage takes some 150 MB before its stage begins. Four keep a core busy, and at their limit they take 4 GB.
  ISOLATED_STAGES: whole(1, 1_000).default(4),
  // What a stage needs that is in order; less than what brings down a small machine.
  ISOLATED_MEMORY: memoryText.default(1_024 ** 3),
  // A worker whose session lock was cut takes it again within milliseconds. A dead worker should be missed at once.
  WORKER_GONE_MS: whole(100, 60_000).default(250),
  // Longer than any pause that a healthy process makes, and than the freeze of a drill. `npm start` alone ends silent workers.
  WORKER_SILENT_MS: whole(5_000, 3_600_000).default(60_000),
  // Ids of schedules that must not run, even if the code declares them.
  SCHEDULES_OFF: z.string().default(''),
  RETENTION_AT: text('a time of day in UTC such as 04:00', (value) => /^([01]\d|2[0-3]):[0-5]\d$/.test(value)).default(
    '04:00',
  ),
  // A fraction of what workers take up, so that items whose runs failed together do not push others aside.
  SWEEP_RESCUES_PER_SECOND: whole(1, 10_000).default(20),
  HOURLY_METRICS_KEPT: keptText.default('48h'),
  // More than two years, so that a month can be compared with the same month of the year before.
  DAILY_METRICS_KEPT: keptText.default('800d'),
  JOB_EXECUTIONS_KEPT: keptText.default('30d'),
  NOTIFICATIONS_KEPT: keptText.default('30d'),
  RECEIPTS_KEPT: keptText.default('90d'),
  // Long enough to look up a worker after a weekend.
  WORKERS_KEPT: keptText.default('7d'),
  // A stage or a request in flight gets this long to end by itself. Container platforms send SIGKILL after 10 to 30 s.
  SHUTDOWN_GRACE_MS: whole(0, 600_000).default(10_000),
  // Without a load balancer in front of the API, waiting serves no caller better.
  SHUTDOWN_DRAIN_MS: whole(0, 600_000).default(0),

  NOTIFY_WEBHOOK_URL: webUrl.optional(),
  NOTIFY_WEBHOOK_SECRET: webhookSecret.optional(),
  SLACK_WEBHOOK_URL: webUrl.optional(),
  NOTIFY_ALLOW_PRIVATE: oneOf('true', 'false').default('false'),
  SMTP_URL: url('a URL such as smtp://user:password@host:587 or smtps://host', 'smtp:', 'smtps:').optional(),
  SMTP_FROM: text('a mail address, such as unstuck@example.com', isMailAddress).optional(),
  NOTIFY_EMAIL_TO: mailAddresses.optional(),
  // Webhook senders wait for 15 to 30 s as a rule, so receivers answer within that.
  NOTIFY_TIMEOUT_MS: whole(100, 60_000).default(15_000),
  // With waits that double from 5 s to an hour: half a day, so that a receiver may be away for a night.
  NOTIFY_TRIES: whole(1, 100).default(20),
  NOTIFY_FIRST_WAIT: spanText.default('5s'),

  BREAKER_SHARE: whole(1, 100).default(50),
  BREAKER_FAILURES: whole(2, 10_000).default(5),
  // Half of fifty is no accident where a fifth fails anyway (one in half a million), and few tries to lose.
  BREAKER_SAMPLE: whole(2, 10_000).default(50),
  BREAKER_WINDOW: spanText.default('5m'),
  BREAKER_PROBE_AFTER: spanText.default('30s'),
  BREAKER_PROBE_MAX: spanText.default('10m'),
  BREAKER_RELEASE_PER_SECOND: whole(1, 1_000).default(1),
  // A quarter of the stages that two cores run in a second; the rest is for items that need no releasing.
  BREAKER_RELEASE_MAX_PER_SECOND: whole(1, 10_000).default(20),
});

export type EngineSettings = z.output<typeof engineSettings>;

/** Their values are never printed. */
export const ENGINE_SECRETS = [
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'TEMPORAL_API_KEY',
  'JWT_SECRET',
  'STATUS_LINK_SECRET',
  // Everybody who knows the address of an incoming webhook may post to it.
  'NOTIFY_WEBHOOK_URL',
  'NOTIFY_WEBHOOK_SECRET',
  'SLACK_WEBHOOK_URL',
  'SMTP_URL',
  ...BLOB_SECRETS,
];
