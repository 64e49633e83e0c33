import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readOptions, UsageError } from '../test/audit/command-options.js';

/** `npm run bench -- <name>` measures the present tree. With --against <commit> an older commit and the present tree are
 *  measured in turn. The exit code is 1 where a goal is missed, and 2 where the command is not understood. */
interface Benchmark {
  benchmark(): Promise<boolean>;
  /** Not every benchmark can be held against another commit. */
  benchmarkAgainst?(commit: string, repeats: number): Promise<boolean>;
}

/** Repeats of 0: as many as the benchmark takes by itself, and 30 against a commit. */
const OPTIONS = { against: '', repeats: 0 };
const AGAINST_REPEATS = 30;
const SUFFIX = '.bench.ts';

/** `<name>.bench.ts` beside this file, or in a domain's own folder of benchmarks. */
function listBenchmarks(): Map<string, string> {
  const domains = join(import.meta.dirname, '../test/domains');
  const owners = existsSync(domains) ? readdirSync(domains).map((name) => join(domains, name, 'bench')) : [];
  const folders = [import.meta.dirname, ...owners.filter((folder) => existsSync(folder))];
  const files = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  return new Map(files.filter((file) => file.endsWith(SUFFIX)).map((file) => [basename(file, SUFFIX), file]));
}

async function main([name = '', ...args]: readonly string[]): Promise<boolean> {
  const files = listBenchmarks();
  const file = files.get(name);
  if (!file) throw new UsageError(`there is no benchmark '${name}'; there are: ${[...files.keys()].sort().join(', ')}`);
  const given = readOptions(args, OPTIONS);
  if (given === 'help') throw new UsageError(`npm run bench -- ${name} [--against <commit>] [--repeats <number>]`);
  const { against, repeats } = given as typeof OPTIONS;
  // A benchmark reads its number of repeats when it is loaded.
  if (repeats > 0) process.env['BENCH_REPEATS'] = String(repeats);
  const { benchmark, benchmarkAgainst } = (await import(pathToFileURL(file).href)) as Benchmark;
  if (against === '') return benchmark();
  if (!benchmarkAgainst) throw new UsageError(`${name} can't be measured against another commit`);
  return benchmarkAgainst(against, repeats || AGAINST_REPEATS);
}

// Awaited at the top: should nothing be left to wait for before the benchmark has answered, Node ends with an error.
try {
  process.exit((await main(process.argv.slice(2))) ? 0 : 1);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
}
