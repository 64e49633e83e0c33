/** The title of a page, which stands in its head. */
export function htmlTitleOf(source: string): string {
  const [, title = ''] = /<title[^>]{0,200}>([^<]{0,1000})<\/title/i.exec(source.slice(0, 100_000)) ?? [];
  return title
    .replace(/&amp;/g, '&')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;|&apos;/g, "'")
    .replace(/\s+/g, ' ')
    .trim();
}
