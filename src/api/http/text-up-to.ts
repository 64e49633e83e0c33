import { z } from 'zod';

/** A string that Postgres can store, in text and in JSON: no NUL, no half of a surrogate pair. */
export function textUpTo(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .refine((value) => !/\0|\p{Surrogate}/u.test(value), 'must not contain NUL characters or broken Unicode');
}
