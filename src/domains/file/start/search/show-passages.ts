import { z } from 'zod';

/** As much of the API's answer as this command shows. */
export const FoundPassages = z.object({
  passages: z.array(
    z.looseObject({
      fileId: z.string(),
      fileName: z.string(),
      page: z.int().nullable(),
      title: z.string().nullable(),
      text: z.string(),
      foundBy: z.array(z.string()),
    }),
  ),
  degraded: z.boolean(),
  withoutVector: z.int().nullable(),
});
export type FoundPassages = z.infer<typeof FoundPassages>;

/** Each passage under its file, the best first, and remarks on what the search could not do. */
export function showPassages({ passages, degraded, withoutVector }: FoundPassages): string[] {
  const found = passages.flatMap(({ fileName, fileId, page, title, text, foundBy }, at) => {
    const where = [...(page === null ? [] : [`page ${page}`]), ...(title === null ? [] : [plain(title)])].join(', ');
    return [
      `${at + 1}. ${plain(fileName)}${where && ` (${where})`}, by ${foundBy.join(' and ')}, ${fileId}`,
      `   ${plain(text)}`,
    ];
  });
  return [
    ...(found.length > 0 ? found : ['Nothing in your ready files fits.']),
    ...(degraded ? ['The embedder did not answer, so passages were found by their words alone.'] : []),
    ...(withoutVector
      ? [`${withoutVector} passages have no vector of the present model and are found by their words alone.`]
      : []),
  ];
}

/** On one line, and without signs that would move the cursor: the text comes from files that anybody may have written. */
function plain(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
}
