import { describe, expect, it } from 'vitest';
import { createFileLetter } from '../../../../src/domains/file/api/file-letter.js';
import { createWebhookNotifier } from '../../../../src/adapters/notifier-webhook.js';
import { file } from '../../../../src/domains/file/table.js';
import { exhaustItem } from '../../../../src/db/recovery/give-up.js';
import { cancelItem } from '../../../../src/db/spine/control.js';
import { SYSTEM } from '../../../../src/db/spine/transition.js';
import { itemOf } from '../../../support/facts.js';
import { ADA, byHand, FAILURE, useSpine } from '../../../support/spine.js';
import { makeFile } from '../support/files.js';

const spine = useSpine();

async function eventsOf(id: string) {
  const { rows } = await spine.pool.query<{
    kind: string;
    owner: string | null;
    mail_to: string | null;
    payload: object;
  }>('SELECT kind, owner, mail_to, payload FROM outbox WHERE item_id = $1 ORDER BY kind', [id]);
  return rows;
}

describe('the owner of a file', () => {
  it('is told of a failure by the facts, with or without a mail address', async () => {
    for (const email of ['ada@example.org', undefined]) {
      const { id } = await makeFile(spine.pool, { state: 'queued', owner: 'ada', ...(email && { email }) });
      const hand = byHand(spine.pool, file);
      await hand.commit(await hand.claimed(id), { is: 'spent', error: { ...FAILURE, stage: 'extract' } });
      expect(await eventsOf(id)).toEqual([
        {
          ...{ kind: 'item_ended', owner: 'ada', mail_to: email ?? null },
          payload: {
            ...{ state: 'failed', trigger: 'extract-failed', reason: FAILURE.message },
            ...{ userId: 'ada', fileId: id, fileName: 'report.pdf' },
          },
        },
      ]);
    }
  });

  it('is told once of a file that recovery gave up, and operators are told apart', async () => {
    const { id } = await makeFile(spine.pool, { state: 'extracting', owner: 'ada' });
    const { epoch, version } = await itemOf(spine.pool, id);
    const cause = { reason: 'worker_died', sentence: 'worker-1 died.' };
    await exhaustItem(spine.pool, () => file, { itemId: id, actor: SYSTEM, seen: epoch, seenVersion: version, cause });
    expect(await eventsOf(id)).toMatchObject([
      { kind: 'item_ended', owner: 'ada', payload: { reason: 'STUCK_EXHAUSTED', fileId: id } },
      { kind: 'item_exhausted', owner: null },
    ]);
  });

  it('is not told of a cancel', async () => {
    const { id } = await makeFile(spine.pool, { state: 'queued', owner: 'ada' });
    await cancelItem(spine.pool, () => file, { itemId: id, actor: ADA });
    expect(await eventsOf(id)).toEqual([]);
  });

  it('is reached by the webhook, which is not told of a person who is not the owner', () => {
    const webhook = createWebhookNotifier({
      url: 'https://example.org',
      secret: `whsec_${'A'.repeat(32)}`,
      allowPrivate: false,
    });
    const [owner, mailTo] = ['ada', 'ada@example.org'];
    expect([webhook.reaches({ owner, mailTo: null }), webhook.reaches({ owner, mailTo })]).toEqual([true, true]);
    expect(webhook.reaches({ owner: null, mailTo })).toBe(false);
  });
});

describe('the letter', () => {
  const write = createFileLetter();
  const ID = '01a1ed01-751e-7000-8000-000000000000';

  it('says that a file will be deleted, and when', async () => {
    const payload = { fileName: 'report.pdf', deletionDate: '2026-02-03T04:05:06.000Z' };
    const letter = await write(spine.pool, ID, { kind: 'deletion_warned', payload });
    expect(letter?.subject).toBe('report.pdf will be deleted on 2026-02-03');
    expect(letter?.text).toContain('retry it before then');
  });

  it('says why a file failed and what its owner can do', async () => {
    const kind = 'item_ended';
    const broken = await write(spine.pool, ID, {
      kind,
      payload: { fileName: 'a.pdf', reason: 'the header is broken' },
    });
    expect(broken?.text).toContain('The reason: the header is broken');
    const stuck = await write(spine.pool, ID, { kind, payload: { fileName: 'a.pdf', reason: 'STUCK_EXHAUSTED' } });
    expect(stuck?.text).toContain('maximum number of retries is exceeded');
    expect(await write(spine.pool, ID, { kind: 'other', payload: {} })).toBeNull();
  });
});
