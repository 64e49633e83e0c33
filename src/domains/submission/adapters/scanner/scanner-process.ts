import { z } from 'zod';
import { serveParent } from '../../../../adapters/serve-parent.js';
import { scanSkill } from './scan-skill.js';

const skillFiles = z.array(z.object({ path: z.string(), bytes: z.instanceof(Uint8Array), isExecutable: z.boolean() }));

/** The process that scans, with native engines. */
await serveParent({
  answer: (question) => scanSkill(skillFiles.parse(question)),
  warm: () => scanSkill([{ path: 'SKILL.md', bytes: Buffer.from('# Warm\n```bash\nls\n```\n'), isExecutable: false }]),
});
