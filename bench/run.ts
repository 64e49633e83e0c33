import { overhead } from './overhead.js';
import { scan } from './scan.js';
import { sweep } from './sweep.js';

const BENCHMARKS: Readonly<Record<string, () => Promise<boolean>>> = { overhead, scan, sweep };

const [name = ''] = process.argv.slice(2);
const benchmark = BENCHMARKS[name];
if (!benchmark) {
  process.stderr.write(`there is no benchmark '${name}'; there are: ${Object.keys(BENCHMARKS).join(', ')}\n`);
  process.exit(2);
}
process.exit((await benchmark()) ? 0 : 1);
