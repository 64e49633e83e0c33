import { loadConfig } from '../../src/config.js';

/** Those of an installation in which nothing is set. */
export const SCHEDULE_SETTINGS = loadConfig({}).schedules;
