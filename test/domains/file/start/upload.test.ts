import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenOf } from '../../../api/setup.js';
import { settingsOf } from '../../../start/parts.js';
import { runChild } from '../../../start/run-child.js';
import { type FileApi, openFileApi } from '../support/api.js';

let api: FileApi;
let url: string;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'unstuck-upload-'));
  api = await openFileApi();
  await api.app.listen({ port: 0, host: '127.0.0.1' });
  url = `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
  workOnStarts();
});
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});

/** As a worker would, as far as the API shows it: names decide the end of each file. */
function workOnStarts(): void {
  const { start } = api.engine;
  api.engine.start = async (run) => {
    await start(run);
    await api.database.pool.query(
      `UPDATE items i SET started = true, ended_at = now(), state = CASE WHEN f.name LIKE 'bad%' THEN 'failed' ELSE 'ready' END,
         error_class = CASE WHEN f.name LIKE 'bad%' THEN 'BAD_INPUT' END, error_stage = CASE WHEN f.name LIKE 'bad%' THEN 'extract' END,
         error_message = CASE WHEN f.name LIKE 'bad%' THEN 'the file is no PDF' END
       FROM files f WHERE f.id = i.id AND i.id = $1`,
      [run.itemId],
    );
  };
}

async function upload(args: string[], told: Record<string, string> = {}) {
  const token = await tokenOf({ sub: 'carol', roles: ['user'] });
  const child = runChild('src/domains/file/start/upload.ts', [...args, '--url', url, '--token', token], {
    env: settingsOf({ DATA_DIR: folder, ...told }),
  });
  const code = await child.exited;
  const output = child.output();
  const figures = JSON.parse(output.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
  return { code, output, figures };
}

function fill(name: string, files: Record<string, string>): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content);
  return path;
}

describe('npm run upload', () => {
  it('uploads a folder and follows each file, and says which files it skips and why', async () => {
    const path = fill('fine', { 'a.txt': 'a', 'b.md': '# b', '.hidden.txt': 'h', 'c.exe': 'x', 'empty.txt': '' });
    mkdirSync(join(path, 'deep'));
    writeFileSync(join(path, 'deep', 'd.csv'), 'a,b\n1,2\n');
    symlinkSync(join(path, 'a.txt'), join(path, 'link.txt'));

    const { code, output, figures } = await upload([path]);

    expect(code, output).toBe(0);
    expect(figures).toMatchObject({ ok: true, ready: 3, failed: 0, skipped: 4 });
    expect(output).toContain('.hidden.txt is skipped, because it is hidden.');
    expect(output).toContain('c.exe is skipped, because files with this ending are not taken.');
    expect(output).toContain('empty.txt is skipped: its sizeBytes must be at least 1');
    expect(output).toContain('link.txt is skipped, because it is a link.');
    expect(output).toMatch(/^ {2}sent +d\.csv$/m);
    expect(output).toMatch(/^ {2}ready +a\.txt$/m);
    expect(output).toMatch(/^b\.md +3 B {2}ready$/m);
    expect([...api.store.kept.values()].map((bytes) => bytes.toString())).toContain('a,b\n1,2\n');
    const { rows } = await api.database.pool.query(`SELECT status FROM upload_batches WHERE owner = 'carol'`);
    expect(rows).toEqual([{ status: 'completed' }]);
  });

  it('tells why a file failed and what to do, and ends with 1', async () => {
    const path = fill('broken', { 'bad.pdf': 'no pdf', 'good.txt': 'text' });
    const { code, output, figures } = await upload([path]);
    expect(code, output).toBe(1);
    expect(figures).toMatchObject({ ok: false, ready: 1, failed: 1 });
    expect(output).toMatch(/^bad\.pdf +6 B {2}failed +the file is no PDF → Mend the file/m);
  });

  it('sends the rest where the API refuses a file that this machine would have taken', async () => {
    const path = fill('limits', { 'large.txt': 'x'.repeat(2_000), 'small.txt': 'x' });
    const small = await openFileApi({ environment: { FILE_MAX_BYTES: '1000' } });
    await small.app.listen({ port: 0, host: '127.0.0.1' });
    const before = url;
    url = `http://127.0.0.1:${(small.app.server.address() as AddressInfo).port}`;
    small.engine.start = async ({ itemId }) => {
      await small.database.pool.query(`UPDATE items SET state = 'ready', ended_at = now() WHERE id = $1`, [itemId]);
    };
    const { code, output, figures } = await upload([path]);
    url = before;
    await small.close();
    expect(code, output).toBe(1);
    expect(figures).toMatchObject({ ready: 1, failed: 1 });
    expect(output).toMatch(/^large\.txt +2\.0 kB {2}refused +must be at most 1000/m);
  });

  it('sends again what the store refused for a while', async () => {
    const path = fill('away', { 'later.txt': 'later' });
    let refusals = 2;
    api.store.beforeKeep = async () => {
      refusals -= 1;
      if (refusals >= 0) throw new Error('the disk is full');
      return Promise.resolve();
    };
    const { code, output } = await upload([path]);
    api.store.beforeKeep = () => Promise.resolve();
    expect(code, output).toBe(0);
    expect(refusals).toBe(-1);
  });

  it('says in one sentence what is wrong with its arguments, or that nothing answers', async () => {
    const nothing = await upload([]);
    expect(nothing.code).toBe(3);
    expect(nothing.output).toContain('upload: name files or folders');
    const missing = await upload([join(folder, 'nowhere')]);
    expect(missing.output).toContain("or it can't be read.");
    const path = fill('alone', { 'a.txt': 'a' });
    const token = await tokenOf({ sub: 'carol' });
    const child = runChild(
      'src/domains/file/start/upload.ts',
      [path, '--url', 'http://127.0.0.1:9', '--token', token],
      {
        env: settingsOf({ DATA_DIR: folder }),
      },
    );
    expect(await child.exited).toBe(3);
    expect(child.output()).toContain('nothing answers at http://127.0.0.1:9. Start the installation with npm start');
  });
});
