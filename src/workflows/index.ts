export {
  discoverNpm as 'discover-npm',
  enrichSkills as 'enrich-skills',
  retention,
  statsRefresh as 'stats-refresh',
} from './retired.js';
export { runItem as 'run-item' } from './run-item.js';
export { runJob as 'run-job' } from './run-job.js';
export { sweep } from './sweep.js';
