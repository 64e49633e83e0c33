import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Service {
  image?: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string | number>;
  ports?: string[];
  healthcheck?: object;
  depends_on?: Record<string, { condition: string }>;
  configs?: { source: string }[];
  volumes?: string[];
}

interface Compose {
  services: Record<string, Service>;
  configs: Record<string, object>;
  volumes: Record<string, object | null>;
}

const root = resolve(import.meta.dirname, '..');
const text = read('docker-compose.yml');

// The Compose specification's own schema: github.com/compose-spec/compose-go v2.16.2, schema/compose-spec.json,
// Copyright 2020 The Compose Specification Authors, Apache License 2.0 (the same text as LICENSE), unchanged.
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv, ['duration', 'uri']);
const isCompose = ajv.compile(JSON.parse(read('test/support/compose-spec.json')) as object);

function read(path: string): string {
  return readFileSync(resolve(root, path), 'utf8');
}

function variablesIn(composeText: string): string[] {
  return [...composeText.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name as string);
}

describe('docker-compose.yml', () => {
  let compose: Compose;
  let services: [string, Service][];

  beforeEach(() => {
    compose = parse(text, { merge: true }) as Compose;
    services = Object.entries(compose.services);
  });

  it('is what the Compose specification allows', () => {
    expect(isCompose(compose), ajv.errorsText(isCompose.errors)).toBe(true);
  });

  it('would be refused with a field that Compose does not know', () => {
    Object.assign(compose.services['api'] as Service, { port: 3000 });
    expect(isCompose(compose)).toBe(false);
  });

  it('runs every part of the split form', () => {
    const parts = ['api', 'postgres', 'temporal', 'temporal-postgres', 'temporal-ui', 'worker'];
    expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(parts));
  });

  it('publishes ports on the loopback address only', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('takes every secret from the environment and refuses to start without it', () => {
    const secrets = services.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).filter(([name]) => /PASSWORD|PWD|SECRET|DATABASE_URL/.test(name)),
    );
    expect(secrets.length).toBeGreaterThan(4);
    for (const [name, value] of secrets) expect(`${name}=${value}`).toMatch(/\$\{\w+:\?[^}]+\}/);
  });

  it('gives the product only variables that .env.example explains', () => {
    const explained = read('.env.example');
    for (const name of ['api', 'worker']) {
      const environment = compose.services[name]?.environment ?? {};
      expect(Object.keys(environment)).toContain('DATABASE_URL');
      for (const variable of Object.keys(environment)) expect(explained).toMatch(new RegExp(`^#? ?${variable}=`, 'm'));
    }
  });

  it('asks only for variables that .env.example or its own first lines explain', () => {
    const explained = `${read('.env.example')}\n${text.slice(0, text.indexOf('\nname:'))}`;
    const asked = new Set(variablesIn(text));
    expect(asked).toContain('JWT_SECRET');
    for (const variable of asked) expect(explained).toMatch(new RegExp(`^#? *${variable}(=| )`, 'm'));
  });

  it('runs programs that package.json runs and src/start holds', () => {
    const scripts = Object.values((JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts);
    for (const [name, { command = [] }] of services.filter(([, service]) => service.build)) {
      const program = command.join(' ');
      expect(program, name).toMatch(/^node dist\/start\/[\w-]+\.js$/);
      expect(
        scripts.some((script) => script.includes(program)),
        program,
      ).toBe(true);
      expect(existsSync(resolve(root, program.replace('node dist', 'src').replace('.js', '.ts'))), program).toBe(true);
    }
  });

  it('waits only for services, health and files that it names', () => {
    for (const [name, service] of services) {
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(compose.services, `${name} waits for ${other}`).toHaveProperty(other);
        if (condition === 'service_healthy') expect(compose.services[other]).toHaveProperty('healthcheck');
      }
      for (const { source } of service.configs ?? []) expect(compose.configs).toHaveProperty(source);
      for (const volume of service.volumes ?? [])
        expect(compose.volumes).toHaveProperty(volume.split(':')[0] as string);
    }
  });
});

describe('Dockerfile', () => {
  const lines = read('Dockerfile').split('\n');

  it('builds on Debian, and never runs as root', () => {
    const bases = lines.filter((line) => line.startsWith('FROM '));
    expect(bases.length).toBeGreaterThan(1);
    for (const base of bases) expect(base).toMatch(/^FROM node:20-bookworm-slim( AS \w+)?$/);
    expect(lines.slice(lines.lastIndexOf(bases.at(-1) as string))).toContain('USER node');
  });

  it('copies nothing that .dockerignore keeps out, and calls only scripts that package.json has', () => {
    const ignored = read('.dockerignore').split('\n').filter(Boolean);
    const copied = lines
      .filter((line) => /^COPY (?!--from)/.test(line))
      .flatMap((line) => line.split(' ').slice(1, -1));
    expect(copied).toContain('prisma/migrations');
    for (const path of copied.filter((path) => path !== '.')) {
      expect(ignored, path).not.toContain(path.split('/')[0]);
      expect(existsSync(resolve(root, path)), path).toBe(true);
    }
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const called = [...read('Dockerfile').matchAll(/npm run (\w+)/g)].map(([, name]) => name as string);
    expect(called).toContain('setup');
    for (const name of called) expect(scripts).toHaveProperty(name);
  });
});
