import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

export interface Summary {
  passed: number;
  failed: number;
  skips: { test: string; reason: string }[];
}

/** Leaves the counts for scripts/test.mjs in the file that it names. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const file = process.env['TEST_SUMMARY_FILE'];
    if (file) writeFileSync(file, JSON.stringify(summaryOf(modules, unhandledErrors)));
  }
}

function summaryOf(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): Summary {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const skipped = tests.filter((test) => test.result().state === 'skipped');
  const passed = tests.filter((test) => test.result().state === 'passed').length;
  // Whatever neither passed nor was skipped failed, a test cut off in the middle too. A hook or a file that broke and an
  // error outside any test count as well: a broken run must not read "0 failed".
  const broken = modules.reduce((sum, module) => sum + errorsBesideTests(module), unhandledErrors.length);
  return { passed, failed: tests.length - passed - skipped.length + broken, skips: skipped.map(skipOf) };
}

function errorsBesideTests(module: TestModule): number {
  const suites = [...module.children.allSuites()];
  return [module, ...suites].filter((suite) => suite.errors().length > 0).length;
}

function skipOf(test: TestCase): Summary['skips'][number] {
  return { test: `${test.module.relativeModuleId} > ${test.fullName}`, reason: skipReasonOf(test) };
}

function skipReasonOf(test: TestCase): string {
  const result = test.result();
  if (result.state === 'skipped' && result.note) return result.note;
  if (test.options.mode === 'todo') return 'not written yet';
  return isInBrokenSuite(test) ? 'a hook before it failed' : 'no reason given';
}

function isInBrokenSuite(test: TestCase): boolean {
  for (let parent = test.parent; ; parent = parent.parent) {
    if (parent.errors().length > 0) return true;
    if (parent.type === 'module') return false;
  }
}
