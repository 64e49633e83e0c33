import { createSkillScanner } from '../../../../../src/domains/submission/adapters/scanner/skill-scanner.js';
import { skillOf } from './skill-files.js';

/** Scans once, prints the pid of the scanning process, and has nothing more to do. */
const scanner = createSkillScanner();
await scanner.scan(skillOf('# Sample'), new AbortController().signal);
process.stdout.write(String(scanner.childPid()));
