export { retention } from './retention.js';
export { runItem as 'run-item' } from './run-item.js';
export { sweep } from './sweep.js';
