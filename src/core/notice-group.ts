/** Events of which one notice an hour is sent, because one outage raises thousands of them. */
const GATHERED = {
  run_failed: 'runs ended because a stage failed for good; recovery takes their items on',
  item_parked: 'items were parked, and a person must retry or cancel them',
  item_exhausted: 'items were given up',
  item_wedged: 'runs cannot go on with the code of the present workers',
} as const;

export type GatheredKind = keyof typeof GATHERED;

/** One notice counts all events with the same values in these fields. */
export interface NoticeGroup {
  kind: GatheredKind;
  pipeline: string;
  /** '': the events have no error class. */
  class: string;
  /** The owner who is told. '': operators are told. */
  owner: string;
}

export interface GroupedEvent {
  kind: string;
  pipeline: string | null;
  itemId: string | null;
  owner: string | null;
  payload: Readonly<Record<string, unknown>>;
}

/** Null: the event is told of at once. A notice that counts events names no item, so it is never counted itself. */
export function groupOf({ kind, pipeline, itemId, owner, payload }: GroupedEvent): NoticeGroup | null {
  if (!isGathered(kind) || pipeline === null || itemId === null) return null;
  const { errorClass } = payload;
  return { kind, pipeline, class: typeof errorClass === 'string' ? errorClass : '', owner: owner ?? '' };
}

function isGathered(kind: string): kind is GatheredKind {
  return Object.hasOwn(GATHERED, kind);
}

export function groupKeyOf({ kind, pipeline, class: errorClass, owner }: NoticeGroup): string {
  return JSON.stringify([kind, pipeline, errorClass, owner]);
}

/** The sentence of a notice that counts events, with the address of the list of their items. */
export function groupSentence(
  group: NoticeGroup,
  count: number,
  { since, link }: { since: Date; link: string },
): string {
  const error = group.class === '' ? '' : ` with the error ${group.class}`;
  return `${count} items of ${group.pipeline}${error} since ${since.toISOString()}: ${GATHERED[group.kind]}. See ${link}`;
}

/** The list that shows these items to the receiver of the notice. */
export function groupPath({ kind, pipeline, class: errorClass }: NoticeGroup): string {
  const query = new URLSearchParams({ pipeline });
  if (kind === 'item_parked') query.set('reason', 'parked');
  else if (kind === 'item_wedged') query.set('reason', 'wedged');
  else if (errorClass !== '') query.set('error', errorClass);
  return `/api/v1/items?${query.toString()}`;
}
