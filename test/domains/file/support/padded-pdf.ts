/** A PDF of one page with this text, and with bytes of no use behind it. Reading it is quick, however large it is. The bytes are a
 *  stream that no page refers to. `fill` makes the bytes, so that no two files need be alike. */
export function paddedPdf(text: string, sizeBytes: number, fill: (length: number) => Buffer): Buffer {
  const content = `BT /F1 18 Tf 50 700 Td (${text.replaceAll(/[()\\]/g, '')}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  const add = (part: Buffer): void => {
    parts.push(part);
    length += part.length;
  };
  for (const [at, body] of objects.entries()) {
    offsets.push(length);
    add(Buffer.from(`${at + 1} 0 obj\n${body}\nendobj\n`));
  }
  // The table of references and the trailer take some 300 bytes.
  const padding = Math.max(0, sizeBytes - length - 400);
  offsets.push(length);
  add(Buffer.from(`6 0 obj\n<< /Length ${padding} >>\nstream\n`));
  add(fill(padding));
  add(Buffer.from('\nendstream\nendobj\n'));
  const xref = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  add(
    Buffer.from(
      `xref\n0 7\n0000000000 65535 f \n${xref}trailer\n<< /Size 7 /Root 1 0 R >>\nstartxref\n${length}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}
