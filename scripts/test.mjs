// `npm test`: runs vitest with the arguments given, then explains every skip and ends with one line of counts.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

async function main(args) {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-test-summary-'));
  const summaryFile = join(folder, 'summary.json');
  const exitCode = await runVitest(args, summaryFile);
  const summary = readSummary(summaryFile);
  rmSync(folder, { recursive: true, force: true });
  printSkips(summary.skips);
  const failed = summary.failed || failuresBesideTests(exitCode, summary);
  console.log(`\n${summary.passed} passed, ${failed} failed, ${summary.skips.length} skipped`);
  return failed === 0 ? 0 : exitCode || 1;
}

function runVitest(args, summaryFile) {
  const shown = args.some((arg) => arg.startsWith('--reporter')) ? [] : ['--reporter=default'];
  const reporters = [...shown, '--reporter=./test/support/summary-reporter.ts'];
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TEST_SUMMARY_FILE: summaryFile },
  });
  // A terminal sends Ctrl-C to both: vitest stops its servers, and we wait for it.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((done, failed) => {
    child.once('error', failed);
    child.once('close', (code) => done(code ?? 1));
  });
}

function readSummary(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { passed: 0, failed: 0, skips: [] };
}

function printSkips(skips) {
  if (skips.length > 0) console.log('\nSkipped:');
  for (const { test, reason } of skips) console.log(`  ${test}: ${reason}`);
}

/** A run that is not good must not read "0 failed", whatever broke it: the set-up, a limit, a signal, a filter. */
function failuresBesideTests(exitCode, { passed }) {
  if (passed > 0 && exitCode === 0) return 0;
  const reason = passed > 0 ? `Vitest ended with code ${exitCode}` : 'No test ran';
  console.log(`\n${reason}; that counts as one failure.`);
  return 1;
}

process.exitCode = await main(process.argv.slice(2));
