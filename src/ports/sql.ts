/** The part of a database connection that stages and their saves need. A `pg` pool and a `pg` client both have it. */
export interface Sql {
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>;
}

/** One SQL statement. As a stage's save it must draw its rows `FROM guard`, which is empty when the commit is refused; as an
 *  item's own row `FROM item`. */
export interface Statement {
  text: string;
  values: readonly unknown[];
}
