import type { TextPart } from '../part.js';
import { cutText, MAX_CHARS, wellFormed } from './well-formed.js';

export interface KeptParts {
  parts: TextPart[];
  isTruncated: boolean;
}

/** A title is shown above a result, and a name of a sheet or a heading is shorter. */
const MAX_TITLE = 300;

/** Makes all text well-formed, drops parts without text, and keeps as many characters as may be kept. */
export function keepParts(parts: readonly TextPart[], maxChars = MAX_CHARS): KeptParts {
  const kept: TextPart[] = [];
  let room = maxChars;
  for (const part of parts) {
    const clean = cleanPart(part);
    if (!/\S/.test(clean.text) && !/\S/.test(clean.header ?? '')) continue;
    if (room === 0) return { parts: kept, isTruncated: true };
    const cut = cutPart(clean, room);
    kept.push(cut);
    room -= sizeOf(cut);
    if (sizeOf(cut) < sizeOf(clean)) return { parts: kept, isTruncated: true };
  }
  return { parts: kept, isTruncated: false };
}

function cleanPart({ text, title, header, ...rest }: TextPart): TextPart {
  const shown = title === undefined ? '' : cutText(wellFormed(title).replace(/\s+/g, ' ').trim(), MAX_TITLE);
  return {
    ...rest,
    text: wellFormed(text),
    ...(header !== undefined && { header: wellFormed(header) }),
    ...(shown !== '' && { title: shown }),
  };
}

function cutPart(part: TextPart, room: number): TextPart {
  if (sizeOf(part) <= room) return part;
  const header = part.header === undefined ? undefined : cutText(part.header, room);
  return {
    ...part,
    ...(header !== undefined && { header }),
    text: cutText(part.text, room - (header?.length ?? 0)),
  };
}

function sizeOf({ text, header }: TextPart): number {
  return text.length + (header?.length ?? 0);
}
