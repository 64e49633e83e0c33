import { msOf } from '../core/span.js';
import { blobProblemsIn } from './blob-settings.js';
import type { EngineSettings } from './settings.js';

/** Settings that are right one by one, and not together. */
export function contradictionsIn(given: EngineSettings): string[] {
  const problems: string[] = [];
  if (given.JWT_SECRET && given.JWT_JWKS_URL) problems.push('JWT_SECRET, JWT_JWKS_URL: expected one of them, got both');
  if (given.NODE_ENV === 'production' && given.DATABASE_URL && !given.JWT_SECRET && !given.JWT_JWKS_URL) {
    problems.push('JWT_SECRET: expected in production (or JWT_JWKS_URL), so that tokens can be checked, got none');
  }
  if (msOf(given.PAUSE_MAX) < msOf(given.PAUSE_DEFAULT)) {
    problems.push(`PAUSE_MAX: expected at least PAUSE_DEFAULT, ${given.PAUSE_DEFAULT}, got ${given.PAUSE_MAX}`);
  }
  return [
    ...problems,
    ...halfTlsIn(given),
    ...halfChannelsIn(given),
    ...breakerProblemsIn(given),
    ...blobProblemsIn(given),
    ...sharedPortsIn(given),
  ];
}

/** The embedded server takes connections without TLS, so these settings need a server of one's own. */
function halfTlsIn(given: EngineSettings): string[] {
  const embedded = 'because the embedded server has no TLS';
  return missingIn(given, [
    ['TEMPORAL_TLS_CLIENT_KEY_PATH', 'TEMPORAL_TLS_CLIENT_CERT_PATH', 'so that we can prove who we are'],
    ['TEMPORAL_TLS_CLIENT_CERT_PATH', 'TEMPORAL_TLS_CLIENT_KEY_PATH', 'so that we can prove who we are'],
    ['TEMPORAL_ADDRESS', 'TEMPORAL_TLS_SERVER_CA_CERT_PATH', embedded],
    ['TEMPORAL_ADDRESS', 'TEMPORAL_TLS_CLIENT_CERT_PATH', embedded],
    ['TEMPORAL_ADDRESS', 'TEMPORAL_TLS_SERVER_NAME', embedded],
  ]);
}

/** A channel that is set up by half would be silent. */
function halfChannelsIn(given: EngineSettings): string[] {
  return missingIn(given, [
    ['NOTIFY_WEBHOOK_SECRET', 'NOTIFY_WEBHOOK_URL', 'so that the receiver can check who sent it'],
    ['NOTIFY_WEBHOOK_URL', 'NOTIFY_WEBHOOK_SECRET', 'so that there is somebody to send to'],
    ['SMTP_FROM', 'SMTP_URL', 'so that mail has a sender'],
    ['SMTP_URL', 'SMTP_FROM', 'so that mail can be sent'],
    ['SMTP_URL', 'NOTIFY_EMAIL_TO', 'so that mail can be sent'],
  ]);
}

type Need = readonly [needed: keyof EngineSettings, by: keyof EngineSettings, why: string];

function missingIn(given: EngineSettings, needs: readonly Need[]): string[] {
  return needs
    .filter(([needed, by]) => given[by] !== undefined && given[needed] === undefined)
    .map(([needed, by, why]) => `${needed}: expected beside ${by}, ${why}, got none`);
}

function breakerProblemsIn(given: EngineSettings): string[] {
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

function sharedPortsIn(given: EngineSettings): string[] {
  const names = [
    'PORT' as const,
    ...(given.METRICS_PORT ? (['METRICS_PORT'] as const) : []),
    ...(given.DATABASE_URL ? [] : (['POSTGRES_PORT'] as const)),
    ...(given.TEMPORAL_ADDRESS ? [] : (['TEMPORAL_PORT', 'TEMPORAL_UI_PORT'] as const)),
  ];
  const twice = names.filter((name, at) => names.findIndex((other) => given[other] === given[name]) !== at);
  return twice.map((name) => `${name}: expected a port of its own, got ${given[name]}, which another setting uses too`);
}
