import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { faultOf } from '../../../src/api/http/invalid-field.js';

/** The validator's first issue, as the API gets it. */
function faultIn(schema: z.ZodType, value: unknown): string {
  const [issue] = schema.safeParse(value).error?.issues ?? [];
  if (!issue) throw new Error('it is valid');
  const { code, message, ...params } = issue;
  return faultOf({ keyword: code, message, params: { ...params } });
}

describe('what is wrong with a field', () => {
  it.each<[string, z.ZodType, unknown, string]>([
    ['a text that is missing', z.string(), undefined, 'is missing; it must be text'],
    ['a number that is missing', z.int(), undefined, 'is missing; it must be a number'],
    ['a number for a text', z.string(), 3, 'must be text, not a number'],
    ['null for a text', z.string(), null, 'must be text, not null'],
    ['a truth value for a text', z.string(), true, 'must be text, not true or false'],
    ['a list for an object', z.object({}), [], 'must be an object, not a list'],
    ['a text for a list', z.array(z.string()), 'x', 'must be a list, not text'],
    ['a fraction', z.int(), 1.5, 'must be a whole number'],
    ['no number', z.coerce.number(), 'x', 'must be a number'],
    ['another word', z.enum(['newest', 'oldest']), 'x', 'must be one of newest, oldest'],
    ['an empty text', z.string().min(1), '', 'must not be empty'],
    ['a long text', z.string().max(2), 'xyz', 'must have at most 2 characters'],
    ['a short list', z.array(z.string()).min(2), [], 'must have at least 2 entries'],
    ['a large number', z.number().max(100), 500, 'must be at most 100'],
    ['a small number', z.number().min(1), 0, 'must be at least 1'],
    ['what a schema has a sentence for', z.string().min(9, 'must be long'), 'x', 'must be long'],
  ])('is said in our words of %s', (_, schema, value, sentence) => {
    expect(faultIn(schema, value)).toBe(sentence);
  });
});
