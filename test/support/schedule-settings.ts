import { loadConfig } from '../../src/start/parts/from-domains.js';

/** Those of an installation in which nothing is set. */
export const SCHEDULE_SETTINGS = loadConfig({}).schedules;
