import { getResolvedPDFJS, type getDocumentProxy } from 'unpdf';
import { z } from 'zod';
import { isReadable } from './recognize-text.js';

export type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>;

/** A scanned page is one picture, or some strips. */
const MAX_PICTURES = 20;

/** The pixels come decoded: one bit each, or three or four bytes. */
const BIT = 1;
const RGB = 2;
const RGBA = 3;

const decoded = z.object({
  width: z.int().positive(),
  height: z.int().positive(),
  /** A mask has none. */
  kind: z.int().optional(),
  data: z.union([z.instanceof(Uint8Array), z.instanceof(Uint8ClampedArray)]),
});
type Picture = z.infer<typeof decoded>;

/** Time for a picture to be decoded. A picture that is missing never comes. */
const DECODE_MS = 30_000;

/** The pictures of a page in a form that the engine for text in pictures reads, in the order in which they are painted. */
export async function picturesOn(page: Page): Promise<Buffer[]> {
  const found: Buffer[] = [];
  for (const painted of (await paintedOn(page)).slice(0, MAX_PICTURES)) {
    const picture = decoded.safeParse(typeof painted === 'string' ? await objectOf(page, painted) : painted);
    if (picture.success && isReadable(picture.data)) found.push(...asPnm(picture.data));
  }
  return found;
}

export async function hasPictures(page: Page): Promise<boolean> {
  return (await paintedOn(page)).length > 0;
}

/** The names of pictures, or the pictures themselves where they stand among the operations. */
async function paintedOn(page: Page): Promise<unknown[]> {
  const { OPS } = await getResolvedPDFJS();
  const paints: readonly number[] = [OPS.paintImageXObject, OPS.paintInlineImageXObject, OPS.paintImageMaskXObject];
  const { fnArray, argsArray } = await page.getOperatorList();
  const painted = fnArray.flatMap((operation, at) => {
    const [first] = (argsArray[at] ?? []) as readonly unknown[];
    return paints.includes(operation) ? [nameIn(first) ?? first] : [];
  });
  return [...new Set(painted)];
}

/** A mask may name its pixels instead of having them. */
function nameIn(first: unknown): string | undefined {
  const mask = z.object({ data: z.string() }).safeParse(first);
  return mask.success ? mask.data.data : undefined;
}

function objectOf(page: Page, name: string): Promise<unknown> {
  const objects = name.startsWith('g_') ? page.commonObjs : page.objs;
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), DECODE_MS);
    objects.get(name, (object: unknown) => {
      clearTimeout(timer);
      resolve(object);
    });
  });
}

/** A line of text, then the pixels. Nothing if there are too few of them. */
function asPnm({ width, height, kind = BIT, data }: Picture): Buffer[] {
  const pixels = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const bytesOf = { [BIT]: Math.ceil(width / 8) * height, [RGB]: width * height * 3, [RGBA]: width * height * 4 }[kind];
  if (bytesOf === undefined || pixels.length < bytesOf) return [];
  if (kind === BIT) return [withHead('P4', pixels.subarray(0, bytesOf).map(invert))];
  return [withHead('P6', kind === RGB ? pixels.subarray(0, bytesOf) : opaque(pixels, width * height), ' 255')];

  function withHead(form: string, body: Uint8Array, depth = ''): Buffer {
    return Buffer.concat([Buffer.from(`${form} ${width} ${height}${depth}\n`), body]);
  }
}

/** A set bit is white in a PDF and black in the form that the engine reads. */
function invert(byte: number): number {
  return ~byte & 0xff;
}

function opaque(pixels: Buffer, count: number): Buffer {
  const rgb = Buffer.alloc(count * 3);
  for (let pixel = 0; pixel < count; pixel += 1) pixels.copy(rgb, pixel * 3, pixel * 4, pixel * 4 + 3);
  return rgb;
}
