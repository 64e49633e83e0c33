/** The validator's finding about one field. */
export interface Issue {
  /** The validator's code. */
  keyword?: string | undefined;
  message?: string | undefined;
  params: Readonly<Record<string, unknown>>;
}

/** Types in the words of the person who wrote the request. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['string', 'text'],
  ['number', 'a number'],
  ['int', 'a whole number'],
  ['boolean', 'true or false'],
  ['array', 'a list'],
  ['object', 'an object'],
  ['record', 'an object'],
  ['null', 'null'],
]);

/** Types that have a size, and the unit in which it is counted. */
const COUNTED: ReadonlyMap<unknown, string> = new Map([
  ['string', 'characters'],
  ['array', 'entries'],
]);

/** The fault of a field, worded to follow the field's name. A schema's own sentence stays. The validator's sentences
 *  are put into our words. */
export function faultOf({ keyword = '', message = 'is not valid', params }: Issue): string {
  if (!/^(?:Invalid input|Invalid option|Too small|Too big): /.test(message)) return message;
  switch (keyword) {
    case 'invalid_type':
      return typeFault(String(params['expected']), /received (\w+)$/.exec(message)?.[1] ?? '');
    case 'invalid_value':
      return Array.isArray(params['values']) ? valueFault(params['values'].map(String)) : message;
    case 'too_small':
      return boundFault('at least', params['minimum'], params['origin']);
    case 'too_big':
      return boundFault('at most', params['maximum'], params['origin']);
    default:
      return message;
  }
}

function typeFault(expected: string, received: string): string {
  const right = WORDS.get(expected) ?? expected;
  if (received === 'undefined') return `is missing; it must be ${right}`;
  const given = expected === 'int' && received === 'number' ? undefined : WORDS.get(received);
  return `must be ${right}${given === undefined ? '' : `, not ${given}`}`;
}

function valueFault(values: readonly string[]): string {
  return values.length === 1 ? `must be ${values[0] ?? ''}` : `must be one of ${values.join(', ')}`;
}

function boundFault(bound: 'at least' | 'at most', amount: unknown, origin: unknown): string {
  if (bound === 'at least' && amount === 1 && origin === 'string') return 'must not be empty';
  const counted = COUNTED.get(origin);
  return counted === undefined
    ? `must be ${bound} ${String(amount)}`
    : `must have ${bound} ${String(amount)} ${counted}`;
}
