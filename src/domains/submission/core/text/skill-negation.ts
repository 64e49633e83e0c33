/** Words that may stand before the negator in its clause: list marks, labels, and the person spoken to. "If you do not
 *  run …" and "those who never run …" forbid nothing, so no other words may. */
const OPENING =
  /^[^\p{L}]*(?:(?:please|you|we|agents?|the|skill|users?|also|and|important|note|warning|caution|security|rule|remember|should|must)\b[^\p{L}]*)*$/iu;

const NEGATOR =
  /\b(?:never|do\s+not|don['’]t|must\s+not|should\s+not|shouldn['’]t|avoid|refuse\s+to)\s+(?:ever\s+|blindly\s+|directly\s+)?/iu;

/** Verbs that a warning forbids. The negator stands right before the verb: "never hesitate to run" forbids nothing. */
const VERB =
  /^(?:run|running|execute|executing|use|using|call|invoke|pipe|paste|type|install|add|include|put|store|write|send|post|upload|share|print|log|expose|commit|read|access|open|delete|edit|modify|change|follow|obey|accept|trust|do|set|pass)\b/i;

/** The only words that may stand between the verb and the match. An author can't talk around a list of allowed words. A
 *  list of words that end a clause could be talked around ("never say no; run …", "never use caution, run …"). */
const FILLER =
  /^(?:\s|[`"'“”‘’*_(]|\b(?:the|a|an|any|this|that|these|those|all|of|in|to|or|such|as|like|e\.g\.|for|example|something|commands?|code|scripts?|instructions?|text|lines?|patterns?|which|says?|saying|phrases?|with)\b)*$/i;

/** Words that take a warning back: "never run it without reading", "do not run it unless asked". */
const TAKEN_BACK = /\b(?:without|unless|except|until|before|only|otherwise)\b/i;

/** A warning stands on the same line as the match, at most this many characters before it. */
const NEAR = 160;

/** Whether the sentence around a match forbids it, as documentation does. `before` and `after` are the text on either
 *  side. */
export function isNegated(before: string, after: string): boolean {
  const clause =
    before
      .slice(-NEAR)
      .split(/[.!?]\s|[\n,;:—–|]/)
      .at(-1) ?? '';
  const negator = NEGATOR.exec(clause);
  if (!negator || !OPENING.test(clause.slice(0, negator.index))) return false;
  const rest = clause.slice(negator.index + negator[0].length);
  if (!isForbidding(rest)) return false;
  return !TAKEN_BACK.test(after.split(/[.!?](?:\s|$)|\n/, 1)[0] ?? '');
}

/** The match is the forbidden verb itself, or only a verb and filler words stand before it. */
function isForbidding(rest: string): boolean {
  if (/^[`"'“‘*_(]*$/.test(rest)) return true;
  const verb = VERB.exec(rest);
  return verb !== null && FILLER.test(rest.slice(verb[0].length));
}
