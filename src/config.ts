import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { isMailAddress } from './core/mail-address.js';
import { isSpan, msOf, type Span } from './core/span.js';
import { SHORTEST_BEATS } from './core/step.js';
import { PIPELINES } from './pipelines/registry.js';

type Environment = Readonly<Record<string, string | undefined>>;
type Settings = z.output<typeof settings>;
export type Config = ReturnType<typeof configOf>;

/** The same from src/ and from dist/. */
export const projectRoot = resolve(import.meta.dirname, '..');

/** The version that runs, as operators see it beside each worker. */
export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(resolve(projectRoot, 'package.json'), 'utf8'));
  return z.object({ version: z.string() }).parse(manifest).version;
}

/** Exit code of a process whose settings are wrong (EX_CONFIG of sysexits.h): starting it again can't help. */
export const EXIT_CONFIG = 78;

/** Every pipeline's thresholds can be set: `CANARY_SWEEP_EVERY`, `VECTOR_INGEST_SWEEP_EVERY` and so on. */
const PIPELINE_NAMES = Object.keys(PIPELINES);

function prefixOf(pipeline: string): string {
  return `${pipeline.toUpperCase().replaceAll('-', '_')}_`;
}

/** Their values are never printed. */
const SECRETS = new Set([
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'TEMPORAL_API_KEY',
  'JWT_SECRET',
  // Whoever knows the address of an incoming webhook may post to it.
  'NOTIFY_WEBHOOK_URL',
  'NOTIFY_WEBHOOK_SECRET',
  'SLACK_WEBHOOK_URL',
  'SMTP_URL',
]);

function text(expected: string, test: (value: string) => boolean) {
  return z.string().refine(test, { error: expected });
}

function whole(min: number, max: number, expected = `a whole number from ${min} to ${max}`) {
  return text(expected, (value) => /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max).transform(
    Number,
  );
}

function port() {
  return whole(1, 65_535, 'a port from 1 to 65535');
}

function url(expected: string, ...protocols: string[]) {
  return text(expected, (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol));
}

function oneOf<const Value extends string>(...values: Value[]) {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

const postgresUrl = url('a URL such as postgresql://user:password@host:5432/database', 'postgres:', 'postgresql:');

const webUrl = url('a URL that starts with https:// or http://', 'https:', 'http:');

/** What the Standard Webhooks libraries take: 24 to 64 bytes, as the standard asks for. */
const webhookSecret = text('whsec_ and the base64 of 24 to 64 random bytes', (value) => {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1] ?? '';
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded && bytes.length >= 24 && bytes.length <= 64;
});

const mailAddresses = text('mail addresses with commas between them, such as ops@example.com', (value) =>
  value.split(',').every((part) => isMailAddress(part.trim())),
).transform((value) => value.split(',').map((part) => part.trim()));

const spanText = text('a span of time such as 15s or 3m', isSpan).transform((value) => value as Span);

/** An hour at least: less would delete what is still being added to. */
const keptText = text(
  'a span of time of at least an hour such as 48h or 30d',
  (value) => isSpan(value) && msOf(value) >= 3_600_000,
).transform((value) => value as Span);

const beatsText = text(
  `a span of time of at least ${SHORTEST_BEATS}, or nothing for what the table says, because a frozen worker keeps its locks for 1.5 s`,
  (value) => isSpan(value) && msOf(value) >= msOf(SHORTEST_BEATS),
).transform((value) => value as Span);

const spansText = text('spans of time with commas between them, such as 3m,10m,30m', (value) =>
  value.split(',').every((part) => isSpan(part.trim())),
).transform((value) => value.split(',').map((part) => part.trim() as Span));

const settings = z.object({
  NODE_ENV: oneOf('development', 'production', 'test').default('development'),
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info'),
  DATA_DIR: z.string().default('.unstuck'),

  HOST: z.string().default('127.0.0.1'),
  PORT: port().default(3000),
  // Ten a second: a console that polls five panels every second and a script beside it; far below what one process can do.
  RATE_LIMIT_PER_MINUTE: whole(1, 1_000_000).default(600),
  METRICS_PORT: port().optional(),
  // A stream costs a socket and some kilobytes; a thousand are far below what a process holds, and one person's tabs below twenty.
  EVENTS_MAX_STREAMS: whole(1, 100_000).default(1_000),
  EVENTS_MAX_STREAMS_PER_CALLER: whole(1, 100_000).default(20),

  JWT_SECRET: text('at least 32 characters', (value) => value.length >= 32).optional(),
  JWT_JWKS_URL: webUrl.optional(),
  JWT_ISSUER: z.string().optional(),
  JWT_AUDIENCE: z.string().optional(),

  DATABASE_URL: postgresUrl.optional(),
  DATABASE_DIRECT_URL: postgresUrl.optional(),
  // Ten for each process, with a dozen processes, stay below the 200 that the embedded server and the compose file allow.
  DB_POOL_SIZE: whole(1, 1_000).default(10),
  // Not 5432, where a developer's own Postgres listens.
  POSTGRES_PORT: port().default(5433),

  TEMPORAL_ADDRESS: text('host:port, such as 127.0.0.1:7233', (value) => /^\S+:\d{1,5}$/.test(value)).optional(),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_TLS: oneOf('true', 'false').default('false'),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_CLI_PATH: z.string().optional(),
  TEMPORAL_PORT: port().default(7233),
  TEMPORAL_UI_PORT: port().default(8233),
  TEMPORAL_UI_URL: webUrl.optional(),

  WORKERS: whole(0, 64).default(2),
  WORKER_NAME: z.string().optional(),
  // Stages mostly wait for others; a hundred keep a process busy and its memory below a gigabyte.
  WORKER_MAX_ACTIVITIES: whole(1, 10_000).default(100),
  // A worker whose session lock was cut takes it again within milliseconds; one that is dead should be missed at once.
  WORKER_GONE_MS: whole(100, 60_000).default(250),
  // Ids of schedules that are not to run, whatever the code says.
  SCHEDULES_OFF: z.string().default(''),
  RETENTION_AT: text('a time of day in UTC such as 04:00', (value) => /^([01]\d|2[0-3]):[0-5]\d$/.test(value)).default(
    '04:00',
  ),
  // A hundred starts are a second's work for Temporal; after an outage the rest follows sweep by sweep.
  SWEEP_MAX_RESCUES: whole(1, 100_000).default(100),
  HOURLY_METRICS_KEPT: keptText.default('48h'),
  JOB_EXECUTIONS_KEPT: keptText.default('30d'),
  NOTIFICATIONS_KEPT: keptText.default('30d'),
  RECEIPTS_KEPT: keptText.default('90d'),
  // Long enough to look up after a weekend who it was.
  WORKERS_KEPT: keptText.default('7d'),
  // What a stage or a request in flight gets to end by itself; container platforms send SIGKILL after 10 to 30 s.
  SHUTDOWN_GRACE_MS: whole(0, 600_000).default(10_000),
  // Where nothing stands in front of the API, nobody is served better by waiting.
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

const overlay = z.object({
  SWEEP_EVERY: spanText.optional(),
  STALE_AFTER: spanText.optional(),
  STUCK_AFTER: spanText.optional(),
  BEATS: beatsText.optional(),
  RESCUE_BUDGET: whole(0, 1_000).optional(),
  RESCUE_BACKOFF: spansText.optional(),
  RESCUE_FORGOTTEN_AFTER: spanText.optional(),
  RESCUE_OLDEST: spanText.optional(),
});

export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    const many = problems.length > 1;
    super(`cannot start: ${problems.length} setting${many ? 's are' : ' is'} wrong.\n  ${problems.join('\n  ')}`);
  }
}

/** Every variable that is read, for the test that compares them with .env.example. */
export function variableNames(): string[] {
  const overlays = PIPELINE_NAMES.flatMap((name) => Object.keys(overlay.shape).map((key) => `${prefixOf(name)}${key}`));
  return [...Object.keys(settings.shape), ...overlays];
}

/** Throws one ConfigError that names every wrong variable and what was expected. */
export function loadConfig(environment: Environment = readEnvironment()): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const main = settings.safeParse(given);
  const overlays = PIPELINE_NAMES.map((name) => [name, overlay.safeParse(withoutPrefix(name, given))] as const);
  const problems = [
    ...problemsIn(main.error, given, ''),
    ...overlays.flatMap(([name, { error }]) => problemsIn(error, given, prefixOf(name))),
    ...(main.success ? contradictionsIn(main.data) : []),
  ];
  if (problems.length > 0 || !main.success) throw new ConfigError(problems);
  const thresholds = Object.fromEntries(overlays.map(([name, { data = {} }]) => [name, overlayOf(data)]));
  return configOf(main.data, thresholds);
}

/** What a child process gets: our own environment, .env included, and what it is told besides. */
export function childEnvironment(told: Environment): Record<string, string> {
  const all = Object.entries({ ...readEnvironment(), ...told });
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Whether npm started us, through a shell that dies with it and tells us nothing. */
export function isBelowNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined;
}

/** The environment wins over the file, as with `node --env-file`. */
function readEnvironment(): Environment {
  const file = resolve(projectRoot, '.env');
  return existsSync(file) ? { ...parseEnv(readFileSync(file, 'utf8')), ...process.env } : process.env;
}

export type PipelineOverlay = ReturnType<typeof overlayOf>;

/** What is not set is undefined, and the pipeline's table holds. */
function overlayOf(given: z.output<typeof overlay>) {
  return {
    sweep: { every: given.SWEEP_EVERY, staleAfter: given.STALE_AFTER, stuckAfter: given.STUCK_AFTER },
    beats: given.BEATS,
    rescue: {
      budget: given.RESCUE_BUDGET,
      backoff: given.RESCUE_BACKOFF,
      budgetResetAfter: given.RESCUE_FORGOTTEN_AFTER,
      oldestRescued: given.RESCUE_OLDEST,
    },
  };
}

function configOf(given: Settings, pipelines: Readonly<Record<string, PipelineOverlay | undefined>>) {
  return {
    environment: given.NODE_ENV,
    logLevel: given.LOG_LEVEL,
    dataDir: resolve(projectRoot, given.DATA_DIR),
    shutdownGraceMs: given.SHUTDOWN_GRACE_MS,
    api: {
      host: given.HOST,
      port: given.PORT,
      rateLimitPerMinute: given.RATE_LIMIT_PER_MINUTE,
      metricsPort: given.METRICS_PORT,
      maxStreams: given.EVENTS_MAX_STREAMS,
      maxStreamsPerCaller: given.EVENTS_MAX_STREAMS_PER_CALLER,
      drainMs: given.SHUTDOWN_DRAIN_MS,
    },
    auth: {
      secret: given.JWT_SECRET,
      jwksUrl: given.JWT_JWKS_URL,
      issuer: given.JWT_ISSUER,
      audience: given.JWT_AUDIENCE,
    },
    /** No URL: the embedded Postgres. The direct one is for migrations and session locks, which a pooler would break. */
    database: {
      url: given.DATABASE_URL,
      directUrl: given.DATABASE_DIRECT_URL ?? given.DATABASE_URL,
      poolSize: given.DB_POOL_SIZE,
    },
    /** No address: the embedded Temporal. */
    temporal: {
      address: given.TEMPORAL_ADDRESS,
      namespace: given.TEMPORAL_NAMESPACE,
      tls: given.TEMPORAL_TLS === 'true',
      apiKey: given.TEMPORAL_API_KEY,
      uiUrl: given.TEMPORAL_UI_URL,
    },
    embedded: {
      postgresPort: given.POSTGRES_PORT,
      temporalPort: given.TEMPORAL_PORT,
      temporalUiPort: given.TEMPORAL_UI_PORT,
      temporalCliPath: given.TEMPORAL_CLI_PATH,
      workers: given.WORKERS,
    },
    schedules: {
      off: given.SCHEDULES_OFF.split(',')
        .map((id) => id.trim())
        .filter((id) => id !== ''),
      retentionAt: given.RETENTION_AT,
      rescuesPerSweep: given.SWEEP_MAX_RESCUES,
    },
    kept: {
      hourlyMetricsMs: msOf(given.HOURLY_METRICS_KEPT),
      jobExecutionsMs: msOf(given.JOB_EXECUTIONS_KEPT),
      notificationsMs: msOf(given.NOTIFICATIONS_KEPT),
      receiptsMs: msOf(given.RECEIPTS_KEPT),
      workersMs: msOf(given.WORKERS_KEPT),
    },
    worker: {
      name: given.WORKER_NAME,
      maxActivities: given.WORKER_MAX_ACTIVITIES,
      goneForMs: given.WORKER_GONE_MS,
    },
    notify: {
      webhook: { url: given.NOTIFY_WEBHOOK_URL, secret: given.NOTIFY_WEBHOOK_SECRET },
      slackUrl: given.SLACK_WEBHOOK_URL,
      smtp: { url: given.SMTP_URL, from: given.SMTP_FROM, to: given.NOTIFY_EMAIL_TO ?? [] },
      allowPrivate: given.NOTIFY_ALLOW_PRIVATE === 'true',
      timeoutMs: given.NOTIFY_TIMEOUT_MS,
      tries: given.NOTIFY_TRIES,
      firstWaitMs: msOf(given.NOTIFY_FIRST_WAIT),
    },
    breaker: {
      share: given.BREAKER_SHARE / 100,
      failures: given.BREAKER_FAILURES,
      sample: given.BREAKER_SAMPLE,
      window: given.BREAKER_WINDOW,
      probeAfter: given.BREAKER_PROBE_AFTER,
      probeMax: given.BREAKER_PROBE_MAX,
      releasePerSecond: given.BREAKER_RELEASE_PER_SECOND,
      releaseMaxPerSecond: given.BREAKER_RELEASE_MAX_PER_SECOND,
    },
    pipelines,
  };
}

function withoutPrefix(pipeline: string, given: Environment): Environment {
  const prefix = prefixOf(pipeline);
  const ours = Object.entries(given).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(ours.map(([name, value]) => [name.slice(prefix.length), value]));
}

function problemsIn(error: z.ZodError | undefined, given: Environment, prefix: string): string[] {
  return (error?.issues ?? []).map(({ path, message }) => {
    const name = `${prefix}${String(path[0])}`;
    return `${name}: expected ${message}${SECRETS.has(name) ? '' : `, got '${given[name]}'`}`;
  });
}

function contradictionsIn(given: Settings): string[] {
  const problems: string[] = [];
  if (given.JWT_SECRET && given.JWT_JWKS_URL) problems.push('JWT_SECRET, JWT_JWKS_URL: expected one of them, got both');
  if (given.NODE_ENV === 'production' && given.DATABASE_URL && !given.JWT_SECRET && !given.JWT_JWKS_URL) {
    problems.push('JWT_SECRET: expected in production (or JWT_JWKS_URL), so that tokens can be checked, got none');
  }
  return [...problems, ...halfChannelsIn(given), ...breakerProblemsIn(given), ...sharedPortsIn(given)];
}

/** A channel that is set up by half would be silent. */
function halfChannelsIn(given: Settings): string[] {
  const needs = [
    ['NOTIFY_WEBHOOK_SECRET', 'NOTIFY_WEBHOOK_URL', 'so that the receiver can check who sent it'],
    ['NOTIFY_WEBHOOK_URL', 'NOTIFY_WEBHOOK_SECRET', 'so that there is somebody to send to'],
    ['SMTP_FROM', 'SMTP_URL', 'so that mail has a sender'],
    ['SMTP_URL', 'SMTP_FROM', 'so that mail can be sent'],
    ['SMTP_URL', 'NOTIFY_EMAIL_TO', 'so that mail can be sent'],
  ] as const;
  return needs
    .filter(([needed, by]) => given[by] !== undefined && given[needed] === undefined)
    .map(([needed, by, why]) => `${needed}: expected beside ${by}, ${why}, got none`);
}

function breakerProblemsIn(given: Settings): string[] {
  return [
    ...(given.BREAKER_FAILURES > given.BREAKER_SAMPLE
      ? [`BREAKER_SAMPLE: expected at least BREAKER_FAILURES, ${given.BREAKER_FAILURES}, got ${given.BREAKER_SAMPLE}`]
      : []),
    ...(msOf(given.BREAKER_PROBE_MAX) < msOf(given.BREAKER_PROBE_AFTER)
      ? [
          `BREAKER_PROBE_MAX: expected at least BREAKER_PROBE_AFTER, ${given.BREAKER_PROBE_AFTER}, got ${given.BREAKER_PROBE_MAX}`,
        ]
      : []),
  ];
}

function sharedPortsIn(given: Settings): string[] {
  const names = [
    'PORT' as const,
    ...(given.METRICS_PORT ? (['METRICS_PORT'] as const) : []),
    ...(given.DATABASE_URL ? [] : (['POSTGRES_PORT'] as const)),
    ...(given.TEMPORAL_ADDRESS ? [] : (['TEMPORAL_PORT', 'TEMPORAL_UI_PORT'] as const)),
  ];
  const twice = names.filter((name, at) => names.findIndex((other) => given[other] === given[name]) !== at);
  return twice.map((name) => `${name}: expected a port of its own, got ${given[name]}, which another setting uses too`);
}
