import type pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogNotifier } from '../../../../src/adapters/notifier-log.js';
import { createSmtpNotifier } from '../../../../src/adapters/notifier-smtp.js';
import { createWebhookNotifier } from '../../../../src/adapters/notifier-webhook.js';
import { type CourierDeps, deliverDue, routeDue } from '../../../../src/loops/courier.js';
import { createStatusLinks } from '../../../../src/api/items/status-links.js';
import { STATUS_LINKS } from '../../../../src/domains/submission/api/status-links.js';
import { createVerdictLetter } from '../../../../src/domains/submission/api/verdict-letter.js';
import { createPool } from '../../../../src/db/postgres/client.js';
import { saveScan } from '../../../../src/domains/submission/db/submissions.js';
import { submission } from '../../../../src/domains/submission/table.js';
import type { Channels } from '../../../../src/ports/notifier.js';
import { createMetrics } from '../../../../src/telemetry/metrics.js';
import { type Mail, type MailServer, startMailServer, textOf } from '../../../adapters/mail-server.js';
import { type Receiver, startReceiver } from '../../../adapters/receiver.js';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres.js';
import { submitted } from '../support/skills.js';
import { byHand } from '../../../support/spine.js';
import { REJECTIONS, SCAN, waysToEnd, type WayToEnd } from '../support/submission-ends.js';
import { SECRET } from '../../../api/setup.js';

const EMAIL = 'ada@example.org';
const links = createStatusLinks({ secret: SECRET, publicUrl: 'https://unstuck.example.com' }, STATUS_LINKS);

let database: TestDatabase;
let pool: pg.Pool;
let server: MailServer;
let receiver: Receiver;
let logged = '';
const logger = pino({ level: 'info' }, { write: (line: string) => void (logged += line) });
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ url: database.url, size: 10, name: 'letter test' });
  [server, receiver] = await Promise.all([startMailServer(), startReceiver()]);
});
beforeEach(() => {
  server.mails.length = 0;
  server.behave('well');
});
afterAll(async () => {
  await Promise.all([server.close(), receiver.close(), pool.end()]);
  await database.drop();
});

/** Operators are told everything there is to be told, by mail and by webhook. */
function channels(): Channels {
  const url = `smtp://127.0.0.1:${String(server.port)}`;
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  return {
    log: createLogNotifier(logger),
    smtp: createSmtpNotifier({ url, from: 'unstuck@example.com', to: ['ops@example.com'], logger }),
    webhook: createWebhookNotifier({ url: receiver.url, secret, allowPrivate: true }),
  };
}

function courier(given: Channels = channels()): CourierDeps {
  const policy = { tries: 5, firstWaitMs: 1, timeoutMs: 10_000 };
  const letters = { submission: createVerdictLetter(links) };
  return { pool, channels: given, letters, policy, logger, metrics: createMetrics() };
}

async function deliver(deps = courier()): Promise<void> {
  await routeDue(deps);
  for (const name of ['log', 'webhook', 'smtp'] as const) await deliverDue(deps, name, new AbortController().signal);
}

async function endedBy(way: WayToEnd, email: string | undefined = EMAIL): Promise<string> {
  const id = await submitted(pool, { ...(email !== undefined && { email }), skillName: way });
  await waysToEnd(pool)[way](id);
  return id;
}

function forAda(): Mail[] {
  return server.mails.filter(({ to }) => to.includes(EMAIL));
}

async function deliveriesOf(id: string): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `SELECT channel || ' ' || (delivered_at IS NOT NULL) AS line FROM deliveries WHERE event_id = $1 ORDER BY channel`,
    [`item_ended:${id}:1`],
  );
  return rows.map(({ line }) => line);
}

describe('the verdict by mail', () => {
  it.each([...REJECTIONS, 'published'] as const)('comes once, to the address that was left: %s', async (way) => {
    const id = await endedBy(way);
    await Promise.all([deliver(), deliver()]);
    await deliver();

    expect(forAda()).toHaveLength(1);
    expect(await deliveriesOf(id)).toEqual(['log true', 'smtp true']);
    const [mail] = forAda();
    expect(mail?.to).toEqual([EMAIL]);
    expect(textOf(mail)).toContain(links.statusUrlOf(id));
    expect(textOf(mail)).toContain(way === 'published' ? 'It is published as published 1.0.0.' : 'What to do:');
  });

  it('says why, where and what to do', async () => {
    await endedBy('tier1-fail');
    await deliver();
    const text = textOf(forAda()[0]).replaceAll('\r\n', '\n');
    expect(text).toContain('Subject: [unstuck] tier1-fail was not published');
    expect(text).toContain(
      [
        'tier1-fail was not published. The scan found 1 thing that no published skill may hold.',
        '',
        '- Runs what it downloads (critical)',
        '  Where: scripts/set-up.sh, line 7',
        '  What to do: Ship the script with the skill.',
        '',
        'Put this right and submit the skill again.',
      ].join('\n'),
    );
  });

  it('outlives a mail server that is away, and is one mail all the same', async () => {
    server.behave('gone');
    const id = await endedBy('cancelled');
    await deliver();
    expect(await deliveriesOf(id)).toEqual(['log true', 'smtp false']);
    server.behave('well');
    await pool.query(`UPDATE deliveries SET due_at = now() - interval '1 second' WHERE delivered_at IS NULL`);
    await deliver();
    await deliver();
    expect(forAda()).toHaveLength(1);
    expect(await deliveriesOf(id)).toEqual(['log true', 'smtp true']);
  });

  it('is not sent where no mail is, and says so where deliveries are listed', async () => {
    const id = await endedBy('cancelled');
    await deliver(courier({ log: createLogNotifier(logger) }));
    expect(server.mails).toEqual([]);
    expect(await deliveriesOf(id)).toEqual(['log true']);
  });

  it('goes to nobody without an address, and to none that is more than one', async () => {
    await endedBy('cancelled', '');
    await endedBy('cancelled', 'ada@example.org, eve@example.org');
    await endedBy('cancelled', 'ada@example.org\r\nBcc: eve@example.org');
    await deliver();
    expect(server.mails).toEqual([]);
  });

  it('takes nothing that a skill says for more than text', async () => {
    const evil = 'x\r\n.\r\nBcc: eve@example.org\r\n\u202egnp.exe\u0007 <a href="https://evil.example">';
    const id = await submitted(pool, { email: EMAIL });
    const hand = byHand(pool, submission);
    await hand.walk(id, 'checkVendor:other', 'fetch');
    const [finding] = SCAN.findings;
    if (!finding) throw new Error('the scan of the tests finds nothing');
    const findings = Array.from({ length: 300 }, () => ({
      ...finding,
      name: evil.repeat(200),
      file: evil,
      remedy: evil,
    }));
    const claimed = await hand.claimed(id, { stage: 'scanTier1' });
    await hand.commit(claimed, { is: 'done', outcome: 'fail', save: saveScan({ ...SCAN, findings }) });
    await deliver();

    const [mail] = forAda();
    expect(mail?.to).toEqual([EMAIL]);
    expect(mail?.raw).toContain('Content-Type: text/plain');
    expect(mail?.raw.split('\r\n\r\n')[0]).not.toMatch(/^bcc:/im);
    expect(textOf(mail)).not.toContain('\u0007');
    expect(mail?.raw.length).toBeLessThan(100_000);
  });

  it('is between us and whoever left the address: neither webhook nor log know it', async () => {
    await endedBy('review-reject');
    await deliver();
    expect(receiver.received.map(({ body }) => body).join('')).not.toContain('item_ended');
    expect(logged).toContain('item_ended');
    expect(logged).not.toContain('example.org');
  });
});
