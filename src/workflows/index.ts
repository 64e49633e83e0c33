export { runItem as 'run-item' } from './run-item.js';
