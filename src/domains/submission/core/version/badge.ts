import { visibleOf } from '../text/plain-text.js';

/** The text of a badge: the label stands on the left, the message on the right. */
export interface Badge {
  label: string;
  message: string;
  /** Read aloud by a screen reader, and shown as a tooltip. */
  title: string;
  colour: string;
}

const COLOURS = { vendor: '#0969da', tier3: '#1a7f37', tier2: '#2da44e', unknown: '#6e7781' } as const;

const TIERS: ReadonlyMap<string, { words: string; colour: string }> = new Map([
  ['vendor', { words: 'vendor', colour: COLOURS.vendor }],
  ['tier2', { words: 'tier 2', colour: COLOURS.tier2 }],
  ['tier3', { words: 'tier 3', colour: COLOURS.tier3 }],
]);

/** The badge of a published skill. Null: no skill of that name is published. */
export function badgeOf(skill: { name: string; version: string; tier: string } | null): Badge {
  if (!skill)
    return { label: 'skill', message: 'unknown', title: 'No such skill is published', colour: COLOURS.unknown };
  const { words, colour } = TIERS.get(skill.tier) ?? { words: skill.tier, colour: COLOURS.unknown };
  return {
    label: 'verified skill',
    message: `v${skill.version} · ${words}`,
    title: `${skill.name} ${skill.version}, certification: ${words}`,
    colour,
  };
}

/** Average width of a character in the font below. `textLength` fits the text to it, so a font of another width breaks
 *  nothing. */
const CHARACTER_WIDTH = 6.6;
const PADDING = 7;
const HEIGHT = 20;

/** Longer than the text of any badge that badgeOf makes. */
const MAX_CHARACTERS = 60;

/** Uses attributes and neither styles nor scripts, so that any content security policy allows it. */
export function svgOf({ label, message, title, colour }: Badge): string {
  const [left, right] = [partOf(label, 0), partOf(message, widthOf(label))];
  const width = widthOf(label) + widthOf(message);
  const told = escapeXml(title);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" role="img" aria-label="${told}">`,
    `<title>${told}</title>`,
    `<rect width="${width}" height="${HEIGHT}" rx="3" fill="#24292f"/>`,
    `<rect x="${widthOf(label)}" width="${widthOf(message)}" height="${HEIGHT}" rx="3" fill="${escapeXml(colour)}"/>`,
    `<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${left}${right}</g>`,
    '</svg>',
  ].join('');
}

function partOf(text: string, x: number): string {
  const length = widthOf(text) - 2 * PADDING;
  return `<text x="${x + PADDING}" y="14" textLength="${length}" lengthAdjust="spacingAndGlyphs">${escapeXml(text)}</text>`;
}

function widthOf(text: string): number {
  return Math.round([...shownOf(text)].length * CHARACTER_WIDTH) + 2 * PADDING;
}

function shownOf(text: string): string {
  return [...visibleOf(text)].slice(0, MAX_CHARACTERS).join('');
}

/** XML allows no control characters, not even escaped. visibleOf has spelled them out already. */
function escapeXml(text: string): string {
  return shownOf(text)
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
