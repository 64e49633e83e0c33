import { resolve } from 'node:path';
import { msOf } from '../core/span.js';
import { blobSettingsOf } from './blob-settings.js';
import type { PipelineOverlay } from './pipeline-overlay.js';
import type { EngineSettings } from './settings.js';

interface More {
  pipelines: Readonly<Record<string, PipelineOverlay | undefined>>;
  domains: Readonly<Record<string, unknown>>;
  projectRoot: string;
}

export type Config = ReturnType<typeof configOf>;

/** The settings by who uses them, under the names that the rest of the program has for them. */
export function configOf(given: EngineSettings, { pipelines, domains, projectRoot }: More) {
  return {
    environment: given.NODE_ENV,
    logLevel: given.LOG_LEVEL,
    /** Stands before the names that the installation has in Temporal; '' for none. */
    installation: given.INSTALLATION,
    dataDir: resolve(projectRoot, given.DATA_DIR),
    shutdownGraceMs: given.SHUTDOWN_GRACE_MS,
    api: {
      host: given.HOST,
      port: given.PORT,
      rateLimitPerMinute: given.RATE_LIMIT_PER_MINUTE,
      trustProxy: given.TRUST_PROXY ?? null,
      metricsPort: given.METRICS_PORT,
      bodyLimitBytes: given.BODY_LIMIT_BYTES,
      maxEventLoopDelayMs: given.EVENT_LOOP_MAX_DELAY_MS,
      pauses: { default: given.PAUSE_DEFAULT, max: given.PAUSE_MAX },
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
    /** No secret: somebody else's keys sign tokens, and there are no status links. */
    links: { secret: given.STATUS_LINK_SECRET ?? given.JWT_SECRET, publicUrl: given.PUBLIC_URL },
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
      tlsFiles: {
        serverCa: given.TEMPORAL_TLS_SERVER_CA_CERT_PATH,
        clientCert: given.TEMPORAL_TLS_CLIENT_CERT_PATH,
        clientKey: given.TEMPORAL_TLS_CLIENT_KEY_PATH,
      },
      tlsServerName: given.TEMPORAL_TLS_SERVER_NAME,
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
    blobs: blobSettingsOf(given, projectRoot),
    schedules: {
      off: given.SCHEDULES_OFF.split(',')
        .map((id) => id.trim())
        .filter((id) => id !== ''),
      retentionAt: given.RETENTION_AT,
      rescuesPerSecond: given.SWEEP_RESCUES_PER_SECOND,
    },
    kept: {
      hourlyMetricsMs: msOf(given.HOURLY_METRICS_KEPT),
      dailyMetricsMs: msOf(given.DAILY_METRICS_KEPT),
      jobExecutionsMs: msOf(given.JOB_EXECUTIONS_KEPT),
      notificationsMs: msOf(given.NOTIFICATIONS_KEPT),
      receiptsMs: msOf(given.RECEIPTS_KEPT),
      workersMs: msOf(given.WORKERS_KEPT),
    },
    worker: {
      name: given.WORKER_NAME,
      maxActivities: given.WORKER_MAX_ACTIVITIES,
      goneForMs: given.WORKER_GONE_MS,
      silentMs: given.WORKER_SILENT_MS,
      isolatedStages: given.ISOLATED_STAGES,
      isolatedBytes: given.ISOLATED_MEMORY,
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
    deaths: { suspect: given.SUSPECT_DEATHS, poison: given.POISON_DEATHS },
    pipelines,
    /** By domain; `settingsOf` of start/parts/domain.ts reads them with their type. */
    domains,
  };
}
