import { defineConfig } from 'prisma/config';

// A missing DATABASE_URL is no error here, because `prisma generate` and `validate` need no database (Prisma's own `env()`
// would throw). Commands that need a database say so themselves.
const url = process.env['DATABASE_DIRECT_URL'] ?? process.env['DATABASE_URL'];

export default defineConfig({
  schema: 'prisma/schema',
  migrations: { path: 'prisma/migrations' },
  ...(url ? { datasource: { url } } : {}),
});
