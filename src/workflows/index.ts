export { discoverNpm as 'discover-npm' } from './discover-npm.js';
export { enrichSkills as 'enrich-skills' } from './enrich-skills.js';
export { retention } from './retention.js';
export { runItem as 'run-item' } from './run-item.js';
export { statsRefresh as 'stats-refresh' } from './stats-refresh.js';
export { sweep } from './sweep.js';
