import { defineConfig } from 'prisma/config';

// `prisma generate` and `validate` need no database, so an absent DATABASE_URL is no error here (Prisma's own `env()`
// would throw); the commands that do need one say so themselves.
const url = process.env['DATABASE_DIRECT_URL'] ?? process.env['DATABASE_URL'];

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(url ? { datasource: { url } } : {}),
});
