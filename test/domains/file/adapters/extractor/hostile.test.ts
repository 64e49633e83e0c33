import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { isAlive } from '../../../../../scripts/pid-lock.mjs';
import { classifyError } from '../../../../../src/core/error-class.js';
import { isRetryable } from '../../../../../src/core/errors.js';
import { tinyPdf, tinyPicture } from '../../../../../src/domains/file/start/tiny-contents.js';
import { until } from '../../../../support/until.js';
import { useExtractors } from '../../support/contents.js';
import { makeDocx, makeOffice, makeZip, paragraph } from '../../support/make-zip.js';

// Each test starts a process or two, which takes seconds on a loaded machine.
vi.setConfig({ testTimeout: 120_000 });

const { extractorOf, read } = useExtractors();
const shared = extractorOf();

/** How a content is refused, and how long that takes with a process that is warm. */
async function refusalOf(content: Buffer | string, name = 'content') {
  await read(shared, 'warm');
  const startedAt = performance.now();
  const error: unknown = await read(shared, content, { name }).catch((reason: unknown) => reason);
  return { error, ms: performance.now() - startedAt };
}

const MB = 1_024 ** 2;
const document = { name: 'word/document.xml', bytes: Buffer.from('<w:document/>') };

describe('an archive', () => {
  it('that unpacks to far more than a document does is refused at once', async () => {
    const bomb = makeZip([document, { name: 'word/bomb.xml', bytes: Buffer.alloc(100 * MB, 'a') }]);
    const { error, ms } = await refusalOf(bomb);

    expect(error).toMatchObject({ code: 'bad_input', message: expect.stringContaining('far more') as string });
    expect(ms).toBeLessThan(2_000);
  });

  it('that unpacks to more than it declares is refused', async () => {
    const lying = makeZip([
      { name: '[Content_Types].xml', bytes: Buffer.from('<Types/>') },
      { name: 'word/document.xml', bytes: Buffer.alloc(50 * MB, ' '), declared: 1_000 },
    ]);
    expect((await refusalOf(lying)).error).toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining('damaged') as string,
    });
  });

  it.each([
    [
      'that has an entry whose name climbs',
      [{ name: '../../evil', bytes: Buffer.from('x') }],
      'leads out of its folder',
    ],
    ['that has an absolute name', [{ name: '/etc/evil', bytes: Buffer.from('x') }], 'leads out of its folder'],
    ['that is encrypted', [{ ...document, isEncrypted: true }], 'password'],
    [
      'that has more entries than any document',
      Array.from({ length: 10_001 }, (_, at) => ({ name: `word/${at}.xml`, bytes: Buffer.alloc(0) })),
      'more than 10000 entries',
    ],
    ['that is no document', [{ name: 'a.txt', bytes: Buffer.from('x') }], 'Unpack it'],
    ['that is an e-book', [{ name: 'META-INF/container.xml', bytes: Buffer.from('<x/>') }], 'EPUB'],
  ])('%s is refused with the reason', async (_, entries, words) => {
    expect((await refusalOf(makeZip(entries))).error).toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining(words) as string,
    });
  });

  it('that was cut off is refused', async () => {
    const whole = makeDocx(paragraph('text '.repeat(1_000)));
    expect((await refusalOf(whole.subarray(0, whole.length / 2))).error).toMatchObject({ code: 'bad_input' });
  });
});

describe('XML', () => {
  const laughs = Array.from({ length: 9 }, (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`).join('');

  it.each([
    ['word', (xml: string) => makeOffice('wordprocessingml.document', { 'word/document.xml': xml })],
    [
      'excel',
      (xml: string) =>
        makeOffice('spreadsheetml.sheet', {
          'xl/workbook.xml': '<workbook/>',
          'xl/sharedStrings.xml': xml,
        }),
    ],
  ])('that declares entities is refused in a document of %s', async (_, make) => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">${laughs}]><x><t>&l9;</t></x>`;
    expect((await refusalOf(make(bomb))).error).toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining('entities') as string,
    });
  });

  it('is text of its own where it is a whole file, and reads no other file', async () => {
    const xxe = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>';
    const found = await read(shared, xxe, { name: 'a.xml' });
    expect(found).toMatchObject({ format: 'xml', parts: [{ text: xxe }] });
  });
});

describe('a content that is not read', () => {
  const ole = Buffer.from('d0cf11e0a1b11ae1', 'hex');
  const oleWith = (name: string): Buffer => Buffer.concat([ole, Buffer.alloc(504), Buffer.from(name, 'utf16le')]);

  it.each([
    ['an old Word document', oleWith('WordDocument'), 'Save it as docx'],
    ['an old workbook', oleWith('Workbook'), 'Save it as xlsx'],
    ['an old presentation', oleWith('PowerPoint Document'), 'Save it as pptx'],
    ['a document behind a password', oleWith('EncryptedPackage'), 'Remove the password'],
    ['rich text', '{\\rtf1\\ansi Hello}', 'RTF'],
    ['an archive of another kind', Buffer.from('1f8b0800000000000003', 'hex'), 'archive (gz)'],
    ['an empty file', Buffer.alloc(0), '0 bytes'],
    ['noise', Buffer.from(Array.from({ length: 4_096 }, (_, at) => (at * 7_919 * (at % 251)) % 256)), 'no kind'],
    ['a picture without its header', tinyPicture().subarray(0, 20), 'damaged'],
    ['a PDF without pages', '%PDF-1.4\nnothing', 'damaged'],
  ])('is refused with what to do: %s', async (_, content, words) => {
    const { error } = await refusalOf(content);
    expect(error).toMatchObject({ code: 'bad_input', message: expect.stringContaining(words) as string });
    expect(isRetryable(error)).toBe(false);
  });

  it('is not judged by its name', async () => {
    await expect(read(shared, tinyPdf(), { name: 'a.docx' })).resolves.toMatchObject({ format: 'pdf' });
    await expect(read(shared, tinyPicture(), { name: 'a.pdf' })).resolves.toMatchObject({ format: 'png' });
    await expect(read(shared, makeDocx(paragraph('x')), { name: 'a.txt' })).resolves.toMatchObject({ format: 'docx' });
  });
});

/** Takes seconds, by what is in it: a table of many cells. */
const slow = `${'1,2,3,4,5,6,7,8,9,10\n'.repeat(1_000_000)}`;

/** Takes more memory than a small limit: a sheet with a million cells. */
function largeBook(): Buffer {
  const rows = Array.from({ length: 60_000 }, (_, row) => {
    const cells = Array.from({ length: 20 }, (_, column) => `<c t="n"><v>${row * column * 7_919}</v></c>`);
    return `<row r="${row + 1}">${cells.join('')}</row>`;
  });
  return makeOffice(
    'spreadsheetml.sheet',
    {
      'xl/workbook.xml':
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="A" sheetId="1" r:id="r1"/></sheets></workbook>',
      'xl/worksheets/sheet1.xml': `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${rows.join('')}</sheetData></worksheet>`,
    },
    { 'xl/workbook.xml': { r1: ['worksheet', 'worksheets/sheet1.xml'] } },
  );
}

describe('the process that reads', () => {
  it('is ended when a file takes too long, and the next file is read by another', async () => {
    const extractor = extractorOf({ timeoutMs: 400 });
    await until('it is warm', () => read(extractor, 'warm').catch(() => undefined));
    const pid = extractor.childPid();
    const error: unknown = await read(extractor, slow, { name: 'a.csv' }).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: 'extraction_timeout' });
    expect(classifyError(error)).toBe('SCAN_TIMEOUT');
    const next = await until('another reads', () => read(extractor, 'next').catch(() => undefined));
    expect(next).toMatchObject({ format: 'text', parts: [{ text: 'next' }] });
    expect(extractor.childPid()).not.toBe(pid);
  });

  it('is ended when a file takes more memory than it may, and the next file is read by another', async () => {
    const extractor = extractorOf({ maxBytes: 384 * MB });
    await read(extractor, 'warm');
    const pid = extractor.childPid();
    const error: unknown = await read(extractor, largeBook()).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: 'bad_input', message: expect.stringContaining('384 MB of memory') as string });
    await expect(read(extractor, 'next')).resolves.toMatchObject({ format: 'text' });
    expect(extractor.childPid()).not.toBe(pid);
  });

  it('is ended when the reading is called off', async () => {
    const extractor = extractorOf();
    await read(extractor, 'warm');
    const pid = extractor.childPid() ?? 0;
    const control = new AbortController();
    const reason = new Error('called off');
    const tell = (): void => control.abort(reason);

    await expect(read(extractor, slow, { name: 'a.csv', signal: control.signal, tell })).rejects.toBe(reason);
    expect(isAlive(pid)).toBe(false);
  });

  it('is replaced when it is killed from outside, which is no fault of the file', async () => {
    const extractor = extractorOf();
    await read(extractor, 'warm');
    const tell = (): void => void process.kill(extractor.childPid() ?? 0, 'SIGKILL');
    const error: unknown = await read(extractor, slow, { name: 'a.csv', tell }).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: 'extraction_failed', message: expect.stringContaining('SIGKILL') as string });
    expect(isRetryable(error)).toBe(true);
    expect(classifyError(error)).not.toBe('BAD_INPUT');
    await expect(read(extractor, 'next')).resolves.toMatchObject({ format: 'text' });
  });

  it('reads two files at a time, and says how many a file waits behind', async () => {
    const extractor = extractorOf();
    const heard: unknown[] = [];
    const ahead = [read(extractor, slow, { name: 'a.csv' }), read(extractor, slow, { name: 'b.csv' })];
    await read(extractor, 'third', { tell: (said) => heard.push(said) });
    await Promise.all(ahead);

    expect(heard[0]).toEqual({ waitsBehind: 1 });
    expect(heard.at(-1)).toEqual({ reading: 'unknown' });
  });

  it('knows nothing of the environment of its parent', async (context) => {
    if (!existsSync('/proc/self/environ')) context.skip('this machine has no /proc, where an environment can be read');
    await read(shared, 'warm');
    const environment = readFileSync(`/proc/${shared.childPid()}/environ`, 'utf8').split('\0');
    expect(environment.filter((entry) => entry !== '' && !/^NODE_CHANNEL_/.test(entry))).toEqual([]);
  });

  it('neither keeps its parent alive nor outlives it', async () => {
    const script = fileURLToPath(new URL('./children/read-and-leave.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script]);

    expect(Number(stdout)).toBeGreaterThan(0);
    await until('it is gone', () => !isAlive(Number(stdout)));
  });
});
