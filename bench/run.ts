import { overhead } from './overhead.bench.js';
import { scan } from '../test/domains/submission/bench/scan.bench.js';
import { sweep } from './sweep.bench.js';

const BENCHMARKS: Readonly<Record<string, () => Promise<boolean>>> = { overhead, scan, sweep };

const [name = ''] = process.argv.slice(2);
const benchmark = BENCHMARKS[name];
if (!benchmark) {
  process.stderr.write(`there is no benchmark '${name}'; there are: ${Object.keys(BENCHMARKS).join(', ')}\n`);
  process.exit(2);
}
process.exit((await benchmark()) ? 0 : 1);
