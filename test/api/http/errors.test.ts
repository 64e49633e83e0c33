import { randomUUID } from 'node:crypto';
import { UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../support/free-port.js';
import { mediaTypeOf } from '../contract.js';
import { ADMIN, ALICE, BOB, type Call, openApi, REVIEWER, submit, type TestApi, tokenOf, VIEWER } from '../setup.js';

let api: TestApi;
/** An item of alice's that is being worked on, one that awaits her decision, and one that has ended. */
let busy: string;
let awaiting: string;
let ended: string;

beforeAll(async () => {
  api = await openApi();
  busy = (await submit(api, ALICE)).id;
  awaiting = (await submit(api, ALICE, { decision: true })).id;
  await api.database.pool.query(`UPDATE items SET state = 'AWAITING', started = true WHERE id = $1`, [awaiting]);
  ended = (await submit(api, ALICE)).id;
  await api.call({ method: 'POST', url: `/api/v1/items/${ended}/cancel`, as: ALICE });
  await submit(api, ALICE, { units: 1 }, 'used');
});
afterAll(() => api.close());

interface Expected {
  status: number;
  code: string;
  /** Fields that `errors` names. */
  names?: string[];
  says?: RegExp;
}
interface Case extends Expected {
  name: string;
  request: () => Call | Promise<Call>;
}

const CANARIES = { method: 'POST', url: '/api/v1/canaries' } as const;
const fault = { stage: 'first', attempt: 1, kind: 'fail' };
const outage = { stage: 'first', kind: 'failWhile', item: randomUUID(), class: 'LLM_ERROR' };

function withToken(token: string | Promise<string>): () => Promise<Call> {
  return async () => ({ url: `/api/v1/items/${busy}`, headers: { authorization: `Bearer ${await token}` } });
}

const unauthenticated: Case[] = [
  { name: 'no token', request: () => ({ url: `/api/v1/items/${busy}` }), status: 401, code: 'not_signed_in' },
  { name: 'a token that is none', request: withToken('nonsense'), status: 401, code: 'not_signed_in' },
  {
    name: 'another scheme',
    request: () => ({ url: `/api/v1/items/${busy}`, headers: { authorization: 'Basic YTpi' } }),
    status: 401,
    code: 'not_signed_in',
  },
  {
    name: 'a token signed with another secret',
    request: withToken(tokenOf(ALICE, { secret: 'another secret, just as long as the other' })),
    status: 401,
    code: 'not_signed_in',
  },
  {
    name: 'an expired token',
    request: withToken(tokenOf(ALICE, { expires: Math.floor(Date.now() / 1_000) - 60 })),
    status: 401,
    code: 'not_signed_in',
    says: /expired/,
  },
  {
    name: 'a token without a signature',
    request: withToken(new UnsecuredJWT({ roles: ['admin'] }).setSubject('alice').setExpirationTime('1h').encode()),
    status: 401,
    code: 'not_signed_in',
  },
  {
    name: 'no token, before anything is said about the body',
    request: () => ({ ...CANARIES, payload: { units: -1 } }),
    status: 401,
    code: 'not_signed_in',
  },
];

const lost: Case[] = [
  { name: 'an unknown path', request: () => ({ url: '/api/v1/nowhere', as: ALICE }), status: 404, code: 'not_found' },
  { name: 'an unknown path, by nobody', request: () => ({ url: '/nowhere' }), status: 404, code: 'not_found' },
  {
    name: 'a method that the path does not take',
    request: () => ({ method: 'DELETE', url: `/api/v1/items/${busy}`, as: ALICE }),
    status: 405,
    code: 'method_not_allowed',
    says: /GET/,
  },
  {
    name: 'an unknown item',
    request: () => ({ url: `/api/v1/items/${randomUUID()}`, as: ALICE }),
    status: 404,
    code: 'not_found',
  },
  {
    name: "somebody else's item",
    request: () => ({ url: `/api/v1/items/${busy}`, as: BOB }),
    status: 404,
    code: 'not_found',
  },
  {
    name: "somebody else's canary",
    request: () => ({ url: `/api/v1/canaries/${busy}`, as: BOB }),
    status: 404,
    code: 'not_found',
  },
  {
    name: "a decision on somebody else's item",
    request: () => ({
      method: 'POST',
      url: `/api/v1/items/${awaiting}/decisions`,
      as: BOB,
      payload: { outcome: 'approve' },
    }),
    status: 404,
    code: 'not_found',
  },
  {
    name: "cancelling somebody else's item",
    request: () => ({ method: 'POST', url: `/api/v1/items/${busy}/cancel`, as: BOB }),
    status: 404,
    code: 'not_found',
  },
  {
    name: 'an id that is no UUID',
    request: () => ({ url: '/api/v1/items/42', as: ALICE }),
    status: 400,
    code: 'invalid_input',
    names: ['id'],
  },
  {
    name: 'a canary id that is no UUID',
    request: () => ({ url: "/api/v1/canaries/'%20OR%201=1", as: ALICE }),
    status: 400,
    code: 'invalid_input',
    names: ['id'],
  },
  {
    name: 'a path that is no URL',
    request: () => ({ url: '/api/v1/items/%zz', as: ALICE }),
    status: 400,
    code: 'invalid_input',
  },
  {
    name: 'an id without end',
    request: () => ({ url: `/api/v1/items/${'a'.repeat(2_000)}`, as: ALICE }),
    status: 400,
    code: 'invalid_input',
  },
];

const unreadable: Case[] = [
  {
    name: 'a body that is no JSON',
    request: () => ({
      ...CANARIES,
      as: ALICE,
      payload: '{"units": 1',
      headers: { 'content-type': 'application/json' },
    }),
    status: 400,
    code: 'invalid_input',
    says: /JSON/,
  },
  {
    name: 'a body that would change the prototype',
    request: () => ({
      ...CANARIES,
      as: ALICE,
      payload: '{"__proto__": {"units": 1}}',
      headers: { 'content-type': 'application/json' },
    }),
    status: 400,
    code: 'invalid_input',
  },
  {
    name: 'an empty body that says it is JSON',
    request: () => ({ ...CANARIES, as: ALICE, payload: '', headers: { 'content-type': 'application/json' } }),
    status: 400,
    code: 'invalid_input',
    says: /empty/,
  },
  {
    name: 'a body of another kind',
    request: () => ({
      ...CANARIES,
      as: ALICE,
      payload: 'units=1',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }),
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    name: 'a body of text',
    request: () => ({ ...CANARIES, as: ALICE, payload: '{}', headers: { 'content-type': 'text/plain' } }),
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    name: 'a body that is too large',
    request: () => ({ ...CANARIES, as: ALICE, payload: { reason: 'x'.repeat(1_100_000) } }),
    status: 413,
    code: 'payload_too_large',
  },
];

/** Each bad field of a canary, and the path that must name it. */
const badCanaries: [what: string, payload: object | unknown[] | string, ...names: string[]][] = [
  ['a list', [], 'body'],
  ['an unknown field', { stageMS: [1, 2, 3], unit: 2 }, 'stageMS', 'unit'],
  ['stageMs that is no list', { stageMs: 5 }, 'stageMs'],
  ['two stage times', { stageMs: [1, 2] }, 'stageMs'],
  ['a negative stage time', { stageMs: [0, -1, 0] }, 'stageMs.1'],
  ['a stage time over ten minutes', { stageMs: [0, 0, 600_001] }, 'stageMs.2'],
  ['a broken stage time', { stageMs: [0.5, 0, 0] }, 'stageMs.0'],
  ['a stage time in words', { stageMs: ['1', 0, 0] }, 'stageMs.0'],
  ['negative units', { units: -1 }, 'units'],
  ['too many units', { units: 1_001 }, 'units'],
  ['broken units', { units: 1.5 }, 'units'],
  ['units of null', { units: null }, 'units'],
  ['a decision in words', { decision: 'yes' }, 'decision'],
  ['faults that are no list', { faults: fault }, 'faults'],
  ['too many faults', { faults: Array.from({ length: 21 }, () => fault) }, 'faults'],
  ['a fault in an unknown stage', { faults: [{ ...fault, stage: 'fourth' }] }, 'faults.0.stage'],
  ['a fault on attempt 0', { faults: [fault, { ...fault, attempt: 0 }] }, 'faults.1.attempt'],
  ['a fault on attempt 21', { faults: [{ ...fault, attempt: 21 }] }, 'faults.0.attempt'],
  ['a fault of an unknown kind', { faults: [{ ...fault, kind: 'explode' }] }, 'faults.0.kind'],
  ['a fault without a kind', { faults: [{ stage: 'first', attempt: 1 }] }, 'faults.0.kind'],
  ['a fault with an unknown field', { faults: [{ ...fault, when: 1 }] }, 'faults.0.when'],
  [
    'an outage without an item',
    { faults: [{ stage: 'first', kind: 'failWhile', class: 'LLM_ERROR' }] },
    'faults.0.item',
  ],
  ['an outage of an unknown class', { faults: [{ ...outage, class: 'MOOD' }] }, 'faults.0.class'],
  ['an outage on one attempt', { faults: [{ ...outage, attempt: 1 }] }, 'faults.0.attempt'],
  ['a fault of an empty unit', { faults: [{ ...fault, unit: '' }] }, 'faults.0.unit'],
  ['a unit with a NUL byte', { faults: [{ ...fault, unit: 'a\u0000b' }] }, 'faults.0.unit'],
  ['a unit with half a surrogate pair', { faults: [{ ...fault, unit: 'a\ud800' }] }, 'faults.0.unit'],
  ['two mistakes at once', { units: -1, decision: 1 }, 'units', 'decision'],
];

const invalidCanaries = badCanaries.map(([what, payload, ...names]): Case => {
  return {
    name: `a canary with ${what}`,
    request: () => ({ ...CANARIES, as: ADMIN, payload }),
    status: 400,
    code: 'invalid_input',
    names,
  };
});

const badKeys = ['', 'two words', 'x'.repeat(201), 'schlüssel'].map((key): Case => {
  return {
    name: `the Idempotency-Key '${key.slice(0, 12)}'`,
    request: () => ({ ...CANARIES, as: ALICE, headers: { 'idempotency-key': key }, payload: {} }),
    status: 400,
    code: 'invalid_input',
    names: ['idempotency-key'],
  };
});

function decision(payload: object, as = ALICE, headers = {}): () => Call {
  return () => ({ method: 'POST', url: `/api/v1/items/${awaiting}/decisions`, as, payload, headers });
}

const refused: Case[] = [
  {
    name: 'faults without the role for it',
    request: () => ({ ...CANARIES, as: ALICE, payload: { faults: [fault] } }),
    status: 403,
    code: 'not_allowed',
    names: ['faults'],
  },
  {
    name: 'a viewer who submits',
    request: () => ({ ...CANARIES, as: VIEWER, payload: {} }),
    status: 403,
    code: 'not_allowed',
  },
  { name: 'a viewer who decides', request: decision({ outcome: 'approve' }, VIEWER), status: 403, code: 'not_allowed' },
  {
    name: 'a viewer who cancels',
    request: () => ({ method: 'POST', url: `/api/v1/items/${busy}/cancel`, as: VIEWER }),
    status: 403,
    code: 'not_allowed',
  },
  {
    name: 'a reviewer who cancels',
    request: () => ({ method: 'POST', url: `/api/v1/items/${busy}/cancel`, as: REVIEWER }),
    status: 403,
    code: 'not_allowed',
  },
  {
    name: "a reviewer who decides in the owner's place",
    request: decision({ outcome: 'approve' }, REVIEWER),
    status: 403,
    code: 'not_allowed',
    says: /owner/,
  },
  {
    name: 'stuck items for a user',
    request: () => ({ url: '/api/v1/stuck', as: ALICE }),
    status: 403,
    code: 'not_allowed',
  },
  {
    name: 'workers for a user',
    request: () => ({ url: '/api/v1/workers', as: ALICE }),
    status: 403,
    code: 'not_allowed',
  },
  { name: 'metrics for a user', request: () => ({ url: '/metrics', as: ALICE }), status: 403, code: 'not_allowed' },
  {
    name: 'a decision without an outcome',
    request: decision({}),
    status: 400,
    code: 'invalid_input',
    names: ['outcome'],
  },
  {
    name: 'a decision without a body',
    request: () => ({ method: 'POST', url: `/api/v1/items/${awaiting}/decisions`, as: ALICE }),
    status: 400,
    code: 'invalid_input',
    names: ['outcome'],
  },
  {
    name: 'a canary that is null',
    request: () => ({
      ...{ method: 'POST', url: '/api/v1/canaries', as: ALICE, payload: 'null' },
      headers: { 'content-type': 'application/json' },
    }),
    status: 400,
    code: 'invalid_input',
    names: ['body'],
  },
  {
    name: 'an unknown outcome',
    request: decision({ outcome: 'maybe' }),
    status: 400,
    code: 'invalid_input',
    names: ['outcome'],
    says: /approve, reject/,
  },
  ...['constructor', 'toString', '__proto__', 'hasOwnProperty'].map((outcome): Case => {
    return {
      name: `the outcome ${outcome}, which every object has`,
      request: decision({ outcome }),
      status: 400,
      code: 'invalid_input',
      names: ['outcome'],
    };
  }),
  {
    name: 'a reason with a NUL byte',
    request: decision({ outcome: 'approve', reason: 'because\u0000' }),
    status: 400,
    code: 'invalid_input',
    names: ['reason'],
  },
  {
    name: 'a reason with half a surrogate pair',
    request: decision({ outcome: 'approve', reason: '\udc00' }),
    status: 400,
    code: 'invalid_input',
    names: ['reason'],
  },
  {
    name: 'a reason that is a novel',
    request: decision({ outcome: 'approve', reason: 'x'.repeat(2_001) }),
    status: 400,
    code: 'invalid_input',
    names: ['reason'],
  },
  {
    name: 'a cancel with an unknown field',
    request: () => ({ method: 'POST', url: `/api/v1/items/${busy}/cancel`, as: ALICE, payload: { why: 'x' } }),
    status: 400,
    code: 'invalid_input',
    names: ['why'],
  },
  {
    name: 'a cancel whose reason has a NUL byte',
    request: () => ({ method: 'POST', url: `/api/v1/items/${busy}/cancel`, as: ALICE, payload: { reason: '\u0000' } }),
    status: 400,
    code: 'invalid_input',
    names: ['reason'],
  },
];

const conflicts: Case[] = [
  {
    name: 'a decision where none is awaited',
    request: () => ({
      method: 'POST',
      url: `/api/v1/items/${busy}/decisions`,
      as: ALICE,
      payload: { outcome: 'approve' },
    }),
    status: 409,
    code: 'state_conflict',
    says: /FIRST/,
  },
  {
    name: 'a cancel of what has ended',
    request: () => ({ method: 'POST', url: `/api/v1/items/${ended}/cancel`, as: ALICE }),
    status: 409,
    code: 'state_conflict',
    says: /FAILED/,
  },
  {
    name: 'a key that was used with another body',
    request: () => ({ ...CANARIES, as: ALICE, headers: { 'idempotency-key': 'used' }, payload: { units: 2 } }),
    status: 409,
    code: 'idempotency_conflict',
    names: ['Idempotency-Key'],
  },
];

function on(id: () => string, action: string, payload: object = {}, as = ADMIN): () => Call {
  return () => ({ method: 'POST', url: `/api/v1/items/${id()}/${action}`, as, payload });
}

const ACTIONS: [action: string, payload: object][] = [
  ['retry', {}],
  ['pause', { reason: 'why' }],
  ['resume', {}],
];
const itemActions: Case[] = ACTIONS.flatMap(([action, payload]): Case[] => [
  { name: `${action} of an unknown item`, request: on(randomUUID, action, payload), status: 404, code: 'not_found' },
  {
    name: `${action} of somebody else's item`,
    request: on(() => busy, action, payload, BOB),
    status: 404,
    code: 'not_found',
  },
  {
    name: `${action} of one's own item`,
    request: on(() => busy, action, payload, ALICE),
    status: 403,
    code: 'not_allowed',
    says: /admin/,
  },
  ...[VIEWER, REVIEWER].map((who): Case => {
    return {
      name: `${action} by a ${String(who.roles)}`,
      request: on(() => busy, action, payload, who),
      status: 403,
      code: 'not_allowed',
    };
  }),
  {
    name: `${action} with an id that is no UUID`,
    request: on(() => '42', action, payload),
    status: 400,
    code: 'invalid_input',
    names: ['id'],
  },
  {
    name: `${action} with an unknown field`,
    request: on(() => busy, action, { ...payload, why: 'x' }),
    status: 400,
    code: 'invalid_input',
    names: ['why'],
  },
  {
    name: `${action} with a reason that has a NUL byte`,
    request: on(() => busy, action, { reason: '\u0000' }),
    status: 400,
    code: 'invalid_input',
    names: ['reason'],
  },
]);

const badSpans = ['0s', '500ms', '1000d', '5', 'soon', '-1h', ''];
const operating: Case[] = [
  ...itemActions,
  {
    name: 'a retry from a state that is none',
    request: on(() => busy, 'retry', { from: 'NOWHERE' }),
    status: 400,
    code: 'invalid_input',
    names: ['from'],
    says: /FIRST, SECOND, THIRD/,
  },
  {
    name: 'a retry from a state that begins with units it would not have',
    request: on(() => busy, 'retry', { from: 'SPREADING' }),
    status: 400,
    code: 'invalid_input',
    names: ['from'],
  },
  {
    name: 'a retry of what lives',
    request: on(() => busy, 'retry'),
    status: 409,
    code: 'still_alive',
    says: /not stuck/,
  },
  {
    name: 'a pause without a reason',
    request: on(() => busy, 'pause', { for: '1h' }),
    status: 400,
    code: 'invalid_input',
    names: ['reason'],
  },
  {
    name: 'a pause until yesterday',
    request: on(() => busy, 'pause', { until: '2020-01-01T00:00:00Z', reason: 'x' }),
    status: 400,
    code: 'invalid_input',
    names: ['until'],
  },
  {
    name: 'a pause until a time and for a length',
    request: on(() => busy, 'pause', { until: '2999-01-01T00:00:00Z', for: '1h', reason: 'x' }),
    status: 400,
    code: 'invalid_input',
    names: ['for'],
  },
  ...badSpans.map((span): Case => {
    return {
      name: `a pause for '${span}'`,
      request: on(() => busy, 'pause', { for: span, reason: 'x' }),
      status: 400,
      code: 'invalid_input',
      names: ['for'],
    };
  }),
  ...ACTIONS.slice(1).map(([action, payload]): Case => {
    return {
      name: `${action} of what has ended`,
      request: on(() => ended, action, payload),
      status: 409,
      code: 'state_conflict',
      says: /FAILED/,
    };
  }),
];

function pipelineAction(action: string, payload: object, as = ADMIN, name = 'canary'): () => Call {
  return () => ({ method: 'POST', url: `/api/v1/pipelines/${name}/${action}`, as, payload });
}

const ofPipelines: Case[] = [
  {
    name: 'pipelines for a user',
    request: () => ({ url: '/api/v1/pipelines', as: ALICE }),
    status: 403,
    code: 'not_allowed',
  },
  ...[ALICE, REVIEWER, VIEWER].flatMap((who) =>
    ['pause', 'resume'].map((action): Case => {
      return {
        name: `${action} of a pipeline by a ${String(who.roles)}`,
        request: pipelineAction(action, { reason: 'x' }, who),
        status: 403,
        code: 'not_allowed',
      };
    }),
  ),
  ...['unheard-of', 'constructor', '__proto__'].flatMap((name) =>
    ['pause', 'resume'].map((action): Case => {
      return {
        name: `${action} of the pipeline ${name}`,
        request: pipelineAction(action, { reason: 'x' }, ADMIN, name),
        status: 404,
        code: 'not_found',
      };
    }),
  ),
  {
    name: 'a pause of a pipeline without a reason',
    request: pipelineAction('pause', {}),
    status: 400,
    code: 'invalid_input',
    names: ['reason'],
  },
  {
    name: 'a pause of a pipeline for more than a day',
    request: pipelineAction('pause', { for: '25h', reason: 'x' }),
    status: 400,
    code: 'invalid_input',
    names: ['for'],
    says: /24h/,
  },
  {
    name: 'a resume of a pipeline that is not paused',
    request: pipelineAction('resume', {}),
    status: 409,
    code: 'state_conflict',
    says: /not paused/,
  },
];

const ofReceipts: Case[] = [
  ...['receipts', 'receipts.csv', 'receipts/summary'].flatMap((path): Case[] => [
    {
      name: `${path} for a user`,
      request: () => ({ url: `/api/v1/${path}`, as: ALICE }),
      status: 403,
      code: 'not_allowed',
    },
    ...Object.entries({ reason: 'tired', result: 'well', since: 'yesterday', colour: 'red' }).map(
      ([field, value]): Case => {
        return {
          name: `${path} with ${field}=${value}`,
          request: () => ({ url: `/api/v1/${path}?${field}=${value}`, as: VIEWER }),
          status: 400,
          code: 'invalid_input',
          names: [field],
        };
      },
    ),
  ]),
  ...[
    'limit=0',
    'limit=101',
    'limit=many',
    'cursor=nonsense',
    `cursor=${Buffer.from("1' x").toString('base64url')}`,
  ].map((query): Case => {
    return {
      name: `receipts with ${query}`,
      request: () => ({ url: `/api/v1/receipts?${query}`, as: VIEWER }),
      status: 400,
      code: 'invalid_input',
      names: [query.split('=')[0] ?? ''],
    };
  }),
];

const ofLists: Case[] = [
  ...[
    'reason=tired',
    'error=OOPS',
    'age=old',
    'age=0s',
    'limit=0',
    'limit=101',
    'limit=1.5',
    'cursor=nonsense',
    'colour=red',
    'q=',
  ],
  ...['q=%00', 'state=%00', 'pipeline=', `cursor=${Buffer.from('x y').toString('base64url')}`],
].map((query): Case => {
  return {
    name: `items with ${query}`,
    request: () => ({ url: `/api/v1/items?${query}`, as: ALICE }),
    status: 400,
    code: 'invalid_input',
    names: [query.split('=')[0] ?? ''],
  };
});

function events(path: string, as = ALICE, lastId?: string): () => Call {
  return () => ({ url: `/api/v1/${path}`, as, ...(lastId !== undefined && { headers: { 'last-event-id': lastId } }) });
}

const ofEvents: Case[] = [
  {
    name: 'events of an unknown item',
    request: events(`items/${randomUUID()}/events`),
    status: 404,
    code: 'not_found',
  },
  {
    name: "events of somebody else's item",
    request: () => ({ url: `/api/v1/items/${busy}/events`, as: BOB }),
    status: 404,
    code: 'not_found',
  },
  {
    name: 'events of an id that is no UUID',
    request: events('items/42/events'),
    status: 400,
    code: 'invalid_input',
    names: ['id'],
  },
  {
    name: 'events with an unknown filter',
    request: events('events?colour=red'),
    status: 400,
    code: 'invalid_input',
    names: ['colour'],
  },
  ...['x', '1', '1.2.3', '-1.0', '9'.repeat(30)].map((lastId): Case => {
    return {
      name: `events behind '${lastId}'`,
      request: events('events', ALICE, lastId),
      status: 400,
      code: 'invalid_input',
      names: ['last-event-id'],
    };
  }),
  {
    name: 'events of an item behind no version',
    request: () => ({ url: `/api/v1/items/${busy}/events`, as: ALICE, headers: { 'last-event-id': '1.2' } }),
    status: 400,
    code: 'invalid_input',
    names: ['last-event-id'],
  },
];

describe('a client that errs is told what and where', () => {
  const cases = [
    ...[...unauthenticated, ...lost, ...unreadable, ...invalidCanaries, ...badKeys, ...refused, ...conflicts],
    ...[...operating, ...ofPipelines, ...ofReceipts, ...ofLists, ...ofEvents],
  ];

  it.each(cases)('$name → $status $code', async ({ request, status, code, names, says }) => {
    const response = await api.call(await request());

    expect(response.statusCode).toBe(status);
    expect(mediaTypeOf(response)).toBe('application/problem+json');
    const problem = response.json<{
      code: string;
      detail: string;
      status: number;
      requestId: string;
      errors?: { path: string }[];
    }>();
    expect(problem).toMatchObject({ code, status, requestId: response.headers['x-request-id'] });
    expect(problem.errors?.map((each) => each.path)).toEqual(names);
    if (says) expect(problem.detail).toMatch(says);
  });

  it('names the scheme when a token is needed, and says so when the one it got is bad', async () => {
    const without = await api.call({ url: `/api/v1/items/${busy}` });
    expect(without.headers['www-authenticate']).toBe('Bearer realm="unstuck"');
    const bad = await api.call({ url: `/api/v1/items/${busy}`, headers: { authorization: 'Bearer x.y.z' } });
    expect(bad.headers['www-authenticate']).toBe('Bearer realm="unstuck", error="invalid_token"');
  });

  it.each([
    [{}, 'reason is missing; it must be text'],
    [{ reason: 7 }, 'reason must be text, not a number'],
    [[], 'body must be an object, not a list'],
  ])('says in our own words what is wrong with %j', async (payload, detail) => {
    const response = await api.call(pipelineAction('pause', payload)());
    expect(response.json()).toMatchObject({ detail });
  });

  it('says the same of an item that is not yours and of one that never was', async () => {
    const unknown = randomUUID();
    const foreign = await api.call({ url: `/api/v1/items/${busy}`, as: BOB });
    const never = await api.call({ url: `/api/v1/items/${unknown}`, as: BOB });
    const without = (body: string, id: string) => body.replaceAll(id, 'ID').replace(/"requestId":"[^"]+"/, '');
    expect(without(foreign.body, busy)).toBe(without(never.body, unknown));
  });

  it('shows the state in a conflict, and names the methods that a path takes', async () => {
    const conflict = await api.call({ method: 'POST', url: `/api/v1/items/${ended}/cancel`, as: ALICE });
    expect(conflict.json()).toMatchObject({ state: 'FAILED' });
    const method = await api.call({ method: 'PUT', url: '/api/v1/canaries', as: ALICE });
    expect(method.headers.allow).toBe('POST');
  });

  it('names no more than twenty fields of a hostile body', async () => {
    const payload = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`field${String(n)}`, 1]));
    const response = await api.call({ ...CANARIES, as: ALICE, payload });
    expect(response.json<{ errors: unknown[] }>().errors).toHaveLength(20);
  });
});

describe('while Postgres is away', () => {
  let cutOff: TestApi;
  beforeAll(async () => {
    cutOff = await openApi({ databaseUrl: `postgresql://nobody@127.0.0.1:${String(await freePort())}/nothing` });
  });
  afterAll(() => cutOff.close());

  const requests: [string, Call][] = [
    ['reading an item', { url: `/api/v1/items/${randomUUID()}`, as: ALICE }],
    ['reading the workers', { url: '/api/v1/workers', as: VIEWER }],
    ['reading a canary', { url: `/api/v1/canaries/${randomUUID()}`, as: ALICE }],
    ['submitting', { ...CANARIES, as: ALICE, payload: {} }],
    [
      'deciding',
      { method: 'POST', url: `/api/v1/items/${randomUUID()}/decisions`, as: ALICE, payload: { outcome: 'approve' } },
    ],
    ['cancelling', { method: 'POST', url: `/api/v1/items/${randomUUID()}/cancel`, as: ALICE }],
    ['retrying', { method: 'POST', url: `/api/v1/items/${randomUUID()}/retry`, as: ADMIN, payload: {} }],
    ['pausing a pipeline', { ...pipelineAction('pause', { reason: 'x' })() }],
    ['listing pipelines', { url: '/api/v1/pipelines', as: VIEWER }],
    ['listening', { url: '/api/v1/events', as: ALICE }],
    ['listening to an item', { url: `/api/v1/items/${randomUUID()}/events`, as: ALICE }],
    ['listing items', { url: '/api/v1/items', as: ALICE }],
    ['listing stuck items', { url: '/api/v1/stuck', as: VIEWER }],
    ['listing receipts', { url: '/api/v1/receipts', as: VIEWER }],
    ['asking for readiness', { url: '/health/ready' }],
  ];
  it.each(requests)('%s gets 503 and when to come back', async (_, request) => {
    const response = await cutOff.call(request);
    expect(response.statusCode).toBe(503);
    expect(response.json()).toMatchObject({ code: 'database_unavailable' });
    expect(response.headers['retry-after']).toBe('5');
    expect(response.body).not.toMatch(/127\.0\.0\.1|ECONN|prisma/i);
  });

  it('a connection that is cut in the middle gets the same, and the next request is served', async () => {
    const { pool } = api.database;
    await pool.query(`CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$`);
    await pool.query('CREATE TRIGGER hang_up BEFORE INSERT ON canaries FOR EACH ROW EXECUTE FUNCTION hang_up()');
    const response = await api.call({ ...CANARIES, as: ALICE, payload: {} });
    await pool.query('DROP TRIGGER hang_up ON canaries');

    expect(response.statusCode).toBe(503);
    expect(response.json()).toMatchObject({ code: 'database_unavailable' });
    expect((await api.call({ ...CANARIES, as: ALICE, payload: {} })).statusCode).toBe(202);
  });
});

describe('while somebody else holds a lock', () => {
  async function holding(lock: string, values: unknown[], work: () => Promise<void>): Promise<void> {
    const client = await api.database.pool.connect();
    await client.query('BEGIN');
    await client.query(lock, values);
    await work().finally(() => client.query('ROLLBACK'));
    client.release();
  }

  it('on the item, a cancel gives up in time', async () => {
    await holding('SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [busy], async () => {
      const response = await api.call({ method: 'POST', url: `/api/v1/items/${busy}/cancel`, as: ALICE });
      expect(response.statusCode).toBe(409);
      expect(response.json()).toMatchObject({ code: 'still_alive' });
    });
  });

  it('on the key, a submission gives up in time, and says when to come back', async () => {
    const lock = `idempotency:${JSON.stringify(['alice', 'POST /api/v1/canaries', 'held'])}`;
    await holding('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [lock], async () => {
      const headers = { 'idempotency-key': 'held' };
      const response = await api.call({ ...CANARIES, as: ALICE, headers, payload: {} });
      expect(response.statusCode).toBe(503);
      expect(response.json()).toMatchObject({ code: 'busy' });
      expect(response.headers['retry-after']).toBe('1');
    });
  });
});
