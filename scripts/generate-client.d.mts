import type { Step } from './set-up.mjs';

export const clientStep: Step;
