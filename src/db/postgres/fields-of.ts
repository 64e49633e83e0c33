export type Columns = Record<string, unknown>;

/** Turns columns in JSON into fields with the names and types of Prisma's models. Postgres' `infinity` stays that
 *  word. */
export function fieldsOf<Fields>(columns: Columns): Fields {
  const entries = Object.entries(columns).map(([column, value]) => {
    const name = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    const isTime = /(^|_)(at|after|until)$/.test(column) && typeof value === 'string' && value !== 'infinity';
    return [name, isTime ? new Date(value) : value];
  });
  return Object.fromEntries(entries) as Fields;
}
