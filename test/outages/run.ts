import { commandOptions } from '../audit/command-options.js';
import { runCommand } from '../audit/run-command.js';
import { outageFindings } from './outage-verdict.js';
import { keepTemporalAway } from './temporal-away.js';

const { minutes, items } = commandOptions(
  'outage',
  'Takes Temporal away for so many minutes, with so many items of each of five kinds; a minute or two more.',
  { minutes: 3, items: 10 },
);

/** Takes Temporal away from an installation for so many minutes, with so many items of each kind. Prints what was found and, as
 *  its last line, the figures; exit code 1 if it cost anything but time, or did not show that it could have. */
runCommand({}, async (installation, say) => {
  const report = await keepTemporalAway(installation, { awayMs: minutes * 60_000, items, say });
  const findings = outageFindings(report, items);
  const passed = findings.length === 0;
  return {
    table: ['', ...findings.map((each) => `  ${each}`), passed ? 'passed' : 'FAILED'].join('\n'),
    figures: { passed, findings, ...report },
  };
});
