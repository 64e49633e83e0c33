import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

/** Starts a thread that runs the module beside the caller's own, as source or compiled, as the caller is. A thread of a process that
 *  runs sources does not inherit the means to read them. */
export function startThread(name: string, callerUrl: string, workerData: object = {}): Worker {
  const extension = extname(fileURLToPath(callerUrl));
  const script = new URL(`./${name}${extension}`, callerUrl);
  if (extension !== '.ts') return new Worker(script, { workerData });
  // `require` finds the variant for CommonJS, which cannot register the loader.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm/api')).href.replace(/\.cjs$/, '.mjs');
  return new Worker(`import('${tsx}').then(({ register }) => { register(); return import('${script.href}'); })`, {
    eval: true,
    workerData,
  });
}
