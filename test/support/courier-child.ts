import { pino } from 'pino';
import { createLogNotifier } from '../../src/adapters/notifier-log.js';
import { createWebhookNotifier } from '../../src/adapters/notifier-webhook.js';
import { startCourier } from '../../src/loops/courier.js';
import { createPool } from '../../src/db/postgres/client.js';
import { createMetrics } from '../../src/telemetry/metrics.js';

/** A courier in a process of its own, to be killed. */
const { TEST_DATABASE_URL: url = '', TEST_URL = '', TEST_SECRET: secret = '' } = process.env;
const logger = pino({ level: 'silent' });
startCourier({
  pool: createPool({ url, size: 4, name: 'courier child' }),
  channels: {
    log: createLogNotifier(logger),
    webhook: createWebhookNotifier({ url: TEST_URL, secret, allowPrivate: true }),
  },
  policy: { tries: 5, firstWaitMs: 60_000, timeoutMs: 10_000 },
  logger,
  metrics: createMetrics(),
});
process.on('disconnect', () => process.exit(0));
