import type { Step } from './set-up.mjs';

export const installStep: Step;
