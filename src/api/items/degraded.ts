import { z } from 'zod';

/** The mark on answers while Temporal is away. */
export const Degraded = z.boolean().describe('Temporal does not answer, and this is from the database alone');
