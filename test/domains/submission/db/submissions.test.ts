import { expect, it } from 'vitest';
import { inTransaction } from '../../../../src/db/postgres/client.js';
import { findJudgement, saveJudgement } from '../../../../src/domains/submission/db/submissions.js';
import { fetched, skillOf, submitted } from '../support/skills.js';
import { useSpine } from '../../../support/spine.js';
import { JUDGEMENT } from '../support/submission-ends.js';

const spine = useSpine();

it('keeps a judgement made anew in the place of one that cannot be read', async () => {
  const skill = skillOf('# Use\nJudged before.');
  const id = await fetched(spine.pool, {}, skill);
  await spine.pool.query(
    `INSERT INTO judgements (content_hash, judge, judgement) VALUES ($1, 'm:f0', '{"score": 70}')`,
    [skill.contentHash],
  );
  const save = saveJudgement(id, 'm:f0', JUDGEMENT);
  if (typeof save !== 'function') throw new Error('expected a function');

  for (let n = 0; n < 2; n += 1) await inTransaction(spine.pool, save);

  expect(await findJudgement(spine.pool, skill.contentHash, 'm:f0')).toEqual(JUDGEMENT);
});

it('deletes the row of a submission with its item, although the Prisma schema declares no relation', async () => {
  const id = await submitted(spine.pool);
  const rowsOf = () => spine.pool.query('SELECT id FROM submissions WHERE id = $1', [id]);
  expect((await rowsOf()).rows).toEqual([{ id }]);

  await spine.pool.query('DELETE FROM items WHERE id = $1', [id]);

  expect((await rowsOf()).rows).toEqual([]);
});
