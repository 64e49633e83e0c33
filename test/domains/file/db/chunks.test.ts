import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replaceChunks } from '../../../../src/domains/file/db/chunks.js';
import { findByWords } from '../../../../src/domains/file/db/search/find-by-words.js';
import { listReadyFiles } from '../../../../src/domains/file/db/search/list-ready-files.js';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres.js';
import { storeFile } from '../support/ready-files.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const GERMAN = [
  'Die städtischen Bibliotheken öffnen am Montag um neun Uhr und schließen erst am späten Abend.',
  'Der Vermieter muss die Heizungen jedes Jahr im Herbst prüfen lassen und die Rechnungen aufbewahren.',
];
const FRENCH = [
  'Les bibliothèques municipales ouvrent le lundi et proposent des livres à tous les habitants de la ville.',
  'Le propriétaire doit faire vérifier les chaudières chaque année avant le début de l’hiver.',
];
const RUSSIAN = [
  'Городские библиотеки открываются в понедельник утром и закрываются поздно вечером.',
  'Хозяин дома должен каждую осень проверять отопление и хранить все счета.',
];
const JAPANESE = [
  '市立図書館は月曜日の朝九時に開館し、夜遅くまで利用できます。',
  '大家さんは毎年秋に暖房を点検し、請求書を保管しなければなりません。',
];
const CHINESE = ['市图书馆星期一早上九点开门，晚上很晚才关门。', '房东每年秋天必须检查暖气并保存发票。'];
const THAI = ['ห้องสมุดประชาชนเปิดวันจันทร์เวลาเก้าโมงเช้า', 'เจ้าของบ้านต้องตรวจสอบเครื่องทำความร้อนทุกปี'];

const TEXTS = { de: GERMAN, fr: FRENCH, ru: RUSSIAN, ja: JAPANESE, zh: CHINESE, th: THAI };

async function search(owner: string, text: string): Promise<number[]> {
  const files = await listReadyFiles(database.pool, owner);
  const hits = await findByWords(database.pool, { owner, text, files, limit: 10 });
  return hits.map(({ seq }) => seq);
}

describe('the words of a file', () => {
  it.each([
    ['de', 'Heizung', 2, 'the plural is in the text'],
    ['de', 'Bibliothek geöffnet', 1, 'one of two words'],
    ['de', 'STADTISCHEN', 1, 'no accent, all capitals'],
    ['de', 'schliessen', 1, 'ss for ß'],
    ['fr', 'chaudière', 2, 'the plural is in the text'],
    ['fr', 'bibliotheque municipale', 1, 'no accent, and singular'],
    ['ru', 'библиотека', 1, 'another case and number'],
    ['ru', 'счёт отопления', 2, 'ё, and another case'],
    ['ja', '図書館', 1, 'a word inside a sentence without spaces'],
    ['ja', '暖房の点検', 2, 'two words and a particle'],
    ['zh', '图书馆', 1, 'a word inside a sentence without spaces'],
    ['th', 'เครื่องทำความร้อน', 2, 'a word inside a sentence without spaces'],
  ] as const)('in %s are found by %s: chunk %i, %s', async (language, query, seq, _why) => {
    const owner = `words ${query}`;

    expect((await storeFile(database.pool, { owner, texts: TEXTS[language] })).language).toBe(language);
    expect((await search(owner, query))[0]).toBe(seq);
  });

  it('in two languages of one owner are found by one query', async () => {
    const owner = 'two languages';
    await storeFile(database.pool, { owner, texts: GERMAN });
    await storeFile(database.pool, {
      owner,
      texts: ['The heaters of a house must be inspected every year in autumn.'],
    });

    expect(await search(owner, 'Heizung heater')).toHaveLength(2);
  });

  it('are found exactly where the language is not known', async () => {
    const { language } = await storeFile(database.pool, { owner: 'no language', texts: ['XK-4711 qvu'] });

    expect(language).toBeNull();
    expect(await search('no language', 'xk-4711')).toEqual([1]);
  });

  it('include those of the heading', async () => {
    await storeFile(database.pool, { owner: 'heading', texts: [{ text: 'Once a year.', title: 'Chimney sweep' }] });

    expect(await search('heading', 'chimneys')).toEqual([]);
    expect(await search('heading', 'chimney')).toEqual([1]);
  });
});

describe('the chunks of a file', () => {
  it('are replaced as a whole, and the file knows their number and its language', async () => {
    const { id } = await storeFile(database.pool, { owner: 'replaced', texts: [...GERMAN, ...GERMAN] });

    const answer = await replaceChunks(database.pool, { id, owner: 'replaced' }, [
      { text: 'The heaters of a house must be inspected every year.', tokens: 11, title: 'Heating', page: 3 },
      { text: 'The landlord keeps the invoices for ten years in the cellar.', tokens: 12 },
    ]);

    const { rows } = await database.pool.query(
      'SELECT seq, owner, title, page, tokens, model, vector FROM file_chunks WHERE file_id = $1 ORDER BY seq',
      [id],
    );
    const none = { owner: 'replaced', model: null, vector: null };
    expect(answer).toEqual({ language: 'en' });
    expect(rows).toEqual([
      { seq: 1, title: 'Heating', page: 3, tokens: 11, ...none },
      { seq: 2, title: null, page: null, tokens: 12, ...none },
    ]);
    const file = await database.pool.query('SELECT language, chunks FROM files WHERE id = $1', [id]);
    expect(file.rows).toEqual([{ language: 'en', chunks: 2 }]);
  });

  it('may be more than one statement takes, or none', async () => {
    const texts = Array.from({ length: 2_001 }, (_, at) => `row number${at}`);
    const { id } = await storeFile(database.pool, { owner: 'many', texts });
    const counted = () =>
      database.pool.query('SELECT count(*)::int AS n, max(seq) AS last FROM file_chunks WHERE file_id = $1', [id]);

    expect((await counted()).rows).toEqual([{ n: 2_001, last: 2_001 }]);
    await replaceChunks(database.pool, { id, owner: 'many' }, []);
    expect((await counted()).rows).toEqual([{ n: 0, last: null }]);
  });
});
