import { fileURLToPath } from 'node:url';
import { createExtractor } from '../../../../../../src/domains/file/adapters/extractor/extractor.js';

/** Reads once, prints the pid of the process that reads, and has nothing more to do. */
const extractor = createExtractor({ timeoutMs: 60_000, maxBytes: 1_024 ** 3 });
const path = fileURLToPath(import.meta.url);
await extractor.extract({ path, name: path }, new AbortController().signal, () => undefined);
process.stdout.write(String(extractor.childPid()));
