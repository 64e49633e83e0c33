// Fails at its first start and is ready at the second.
import { existsSync, writeFileSync } from 'node:fs';

if (!existsSync(process.env.MARK)) {
  writeFileSync(process.env.MARK, '');
  console.error('error: not yet');
  process.exit(1);
}
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
