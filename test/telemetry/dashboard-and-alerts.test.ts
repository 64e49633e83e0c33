import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DOMAINS } from '../../src/domains/domains.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { anchorsOf } from './anchors.js';
import { type Exported, problemsIn } from './promql.js';

interface Dashboard {
  panels: { title: string; targets?: { expr: string; legendFormat: string }[] }[];
  templating: { list: { name: string; query: string }[] };
}

interface Alerts {
  groups: { rules: { alert: string; expr: string; annotations: { summary?: string; runbook?: string } }[] }[];
}

const DOMAIN_METRICS = DOMAINS.flatMap(({ metrics = [] }) => metrics);
const exported = await exportedMetrics();
const alerts = (parse(read('docs/prometheus-alerts.yml')) as Alerts).groups.flatMap(({ rules }) => rules);
const { panels, templating } = JSON.parse(read('docs/grafana-dashboard.json')) as Dashboard;
const targets = panels.flatMap(({ title, targets: all = [] }) => all.map((target) => ({ title, ...target })));

describe('the check of expressions', () => {
  it.each([
    ['max by (pipeline) (unstuck_items{state="FIRST"}) > 0', []],
    ['sum by (le) (rate(unstuck_http_request_duration_seconds_bucket[5m]))', []],
    ['unstuck_itemz > 0', ['unstuck_itemz is no metric of ours']],
    ['up == 0', ['up is no metric of ours']],
    ['unstuck_items{status="FIRST"}', ['unstuck_items has no label status']],
    ['sum by (stage) (unstuck_items)', ['no metric here has the label stage']],
    ['sum by (le) (unstuck_items)', ['no metric here has the label le']],
  ])('judges %s', (expression, problems) => {
    expect(problemsIn(expression, exported)).toEqual(problems);
  });
});

describe('alerts', () => {
  it('are there, each under its own name', () => {
    const names = alerts.map(({ alert }) => alert);
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(alerts)('$alert asks for what is exported', ({ expr }) => {
    expect(problemsIn(expr, exported)).toEqual([]);
  });

  it.each(alerts)('$alert says what is wrong and where to read on', ({ expr, annotations }) => {
    expect(annotations.summary).toMatch(/^.{10,}\.$/);
    const [file, anchor] = annotations.runbook?.split('#') ?? [];
    expect(file).toBe('docs/operations.md');
    expect(anchorsOf(read('docs/operations.md'))).toContain(anchor);
    const named = [...(annotations.summary ?? '').matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label ?? '');
    expect(named.filter((label) => !isKept(expr, label))).toEqual([]);
  });
});

describe('the dashboard', () => {
  it('shows something', () => {
    expect(targets.length).toBeGreaterThan(20);
  });

  it.each(targets)('asks for what is exported: $title, $expr', ({ expr, legendFormat }) => {
    expect(problemsIn(expr, exported)).toEqual([]);
    const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label ?? '');
    expect(named.filter((label) => !isKept(expr, label))).toEqual([]);
  });

  it('has its variables from metrics of ours', () => {
    const queries = templating.list.flatMap(({ query }) => /^label_values\((\w+), (\w+)\)$/.exec(query) ?? []);
    const [, metric = '', label = ''] = queries;
    expect(exported.get(metric)).toContain(label);
  });

  it('leaves no metric of ours out', () => {
    const shown = targets.map(({ expr }) => expr).join('\n');
    const ofDomains = DOMAIN_METRICS.map(({ name }) => name);
    const names = [...exported.keys()].filter((name) => !/_(bucket|sum|count)$/.test(name));
    const own = names.filter((name) => /^unstuck_/.test(name) || ofDomains.includes(name));
    const left = own.filter((name) => !shown.includes(name)).sort();
    expect(left).toEqual(['unstuck_scrape_failed']);
  });
});

/** Every expression here aggregates; what it does not aggregate by is gone. */
function isKept(expression: string, label: string): boolean {
  return [...expression.matchAll(/\bby \(([^)]*)\)/g)].some(([, by]) => by?.split(', ').includes(label));
}

/** Each name that Prometheus would know, with its labels. */
async function exportedMetrics(): Promise<Exported> {
  const metrics = createMetrics();
  for (const part of DOMAIN_METRICS) metrics.ofDomain(part);
  const { registry } = metrics;
  const all = registry.getMetricsAsArray() as unknown as { name: string; type: string; labelNames?: string[] }[];
  const types = new Map((await registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)]));
  return new Map(
    all.flatMap(({ name, labelNames = [] }): [string, string[]][] =>
      types.get(name) === 'histogram'
        ? [
            [name, labelNames],
            [`${name}_bucket`, [...labelNames, 'le']],
            [`${name}_sum`, labelNames],
            [`${name}_count`, labelNames],
          ]
        : [[name, labelNames]],
    ),
  );
}

function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
}
