/** The labels of every metric, by its name. */
export type Exported = ReadonlyMap<string, readonly string[]>;

/** Words of PromQL that the documents use, none of them a metric. */
const WORDS = new Set(
  'by sum max min unless absent rate increase histogram_quantile min_over_time and or on ignoring'.split(' '),
);

/** What an expression asks for that is not exported: unknown metrics, labels that a metric does not have. Not a parser of
 *  PromQL: it knows what the documents use, and anything else is reported as unknown. */
export function problemsIn(expression: string, exported: Exported): string[] {
  const selectors = [...expression.matchAll(/\b([a-zA-Z_]\w*)\{([^}]*)\}/g)];
  const wrongLabels = selectors.flatMap(([, metric = '', matchers = '']) =>
    [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)]
      .map(([, label = '']) => label)
      .filter((label) => exported.has(metric) && !exported.get(metric)?.includes(label))
      .map((label) => `${metric} has no label ${label}`),
  );
  const named = namesIn(expression);
  const unknown = named.filter((name) => !exported.has(name)).map((name) => `${name} is no metric of ours`);
  const labels = new Set(named.flatMap((name) => exported.get(name) ?? []));
  const wrongBy = [...expression.matchAll(/\bby \(([^)]*)\)/g)]
    .flatMap(([, by = '']) => by.split(', '))
    .filter((label) => !labels.has(label))
    .map((label) => `no metric here has the label ${label}`);
  return [...new Set([...unknown, ...wrongLabels, ...wrongBy])];
}

function namesIn(expression: string): string[] {
  const bare = expression
    .replace(/\{[^}]*\}/g, ' ')
    .replace(/\bby \([^)]*\)/g, ' by ')
    .replace(/\[[^\]]*\]/g, ' ');
  return [...bare.matchAll(/[a-zA-Z_]\w*/g)].map(([name]) => name).filter((name) => !WORDS.has(name));
}
