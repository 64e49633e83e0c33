import { endIfTooLarge, watchProcess } from '../../../../adapters/watch-process.js';
import type { SkillFile } from '../../ports/skill.js';
import { scanSkill } from './scan-skill.js';

/** The process that scans. It reads hostile files with native engines, so it may hang, take too much memory or crash.
 *  Its parent then replaces it. */
const [maxBytes = ''] = process.argv.slice(2);
watchProcess(Number(maxBytes));
process.once('disconnect', () => process.exit());
process.on('message', (files: SkillFile[]) => {
  scanSkill(files).then(
    (findings) => process.send?.({ findings }),
    (error: unknown) => process.send?.({ fault: String(error) }),
  );
});

// The first scan compiles and links the code that later scans use.
await scanSkill([{ path: 'SKILL.md', bytes: Buffer.from('# Warm\n```bash\nls\n```\n'), isExecutable: false }]);
endIfTooLarge(Number(maxBytes));
process.send?.({ ready: true });
