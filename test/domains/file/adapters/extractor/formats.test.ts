import { describe, expect, it, vi } from 'vitest';
import { tinyPdf, tinyPicture } from '../../../../../src/domains/file/start/tiny-contents.js';
import { useExtractors } from '../../support/contents.js';
import { drawnBitmap, scannedPdf } from '../../support/drawn-text.js';
import { makeDocx, makeOffice, makeZip, paragraph } from '../../support/make-zip.js';
import { shownIn } from '../../support/shown-text.js';

// The first content of a kind loads its reader, which takes seconds on a loaded machine.
vi.setConfig({ testTimeout: 120_000 });

const { extractorOf, read } = useExtractors();
const extractor = extractorOf();

describe('a Word document', () => {
  it('has its headings, lists and tables in order, whatever language the styles are named in', async () => {
    const styles =
      '<w:styles xmlns:w="urn:w"><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style></w:styles>';
    const table =
      '<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>';
    const body = [
      paragraph('Plan', '<w:pStyle w:val="berschrift2"/>'),
      paragraph('first', '<w:numPr/>'),
      table,
      paragraph('after'),
    ];
    const found = await read(extractor, makeDocx(body.join(''), { 'word/styles.xml': styles }));

    expect(found).toMatchObject({ format: 'docx', isRecognized: false, isTruncated: false });
    expect(found.parts).toMatchObject([{ kind: 'markdown' }]);
    expect(found.parts[0]?.text.split('\n').filter((line) => line !== '')).toEqual([
      '## Plan',
      '- first',
      'a\tb',
      'after',
    ]);
  });

  it('has the text beside its body, and text boxes once, and nothing that was deleted', async () => {
    const box = (text: string): string => `<w:txbxContent>${paragraph(text)}</w:txbxContent>`;
    const body = `<w:p><w:r><w:t>host</w:t><mc:AlternateContent><mc:Choice>${box('boxed')}</mc:Choice><mc:Fallback>${box('boxed')}</mc:Fallback></mc:AlternateContent></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>`;
    const around = (name: string, text: string) => [
      `word/${name}.xml`,
      `<w:x xmlns:w="urn:w">${paragraph(text)}</w:x>`,
    ];
    const parts = Object.fromEntries([
      around('header1', 'on top'),
      around('header2', 'on top'),
      around('footer1', 'below'),
      around('footnotes', 'a footnote'),
      around('endnotes', 'an endnote'),
      around('comments', 'a comment'),
    ]) as Record<string, string>;
    const shown = shownIn(await read(extractor, makeDocx(body, parts)));

    for (const text of ['host', 'boxed', 'on top', 'below', 'a footnote', 'an endnote', 'a comment']) {
      expect(shown.split(text), text).toHaveLength(2);
    }
    expect(shown).not.toMatch(/gone|PAGE/);
  });

  it('gives a long table as a part with its header, under the heading that it stands under', async () => {
    const row = (...cells: readonly string[]): string =>
      `<w:tr>${cells.map((text) => `<w:tc>${paragraph(text)}</w:tc>`).join('')}</w:tr>`;
    const rows = Array.from({ length: 30 }, (_, at) => row(`n${at}`, `v${at}`)).join('');
    const body = `${paragraph('Sums', '<w:outlineLvl w:val="0"/>')}<w:tbl>${row('name', 'value')}${rows}</w:tbl>${paragraph('after')}`;
    const { parts } = await read(extractor, makeDocx(body));

    expect(parts).toMatchObject([
      { kind: 'markdown', text: '# Sums\n' },
      { kind: 'table', title: 'Sums', header: 'name\tvalue' },
      { kind: 'markdown', title: 'Sums', text: 'after\n' },
    ]);
    expect(parts[1]?.text.split('\n')).toHaveLength(30);
  });
});

describe('a workbook', () => {
  it('has every sheet as a table, with values as they are shown and columns where they stand', async () => {
    const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
    const sheet = (rows: string): string =>
      `<worksheet xmlns="${main}"><sheetData>${rows}</sheetData><headerFooter><oddHeader>&amp;LLeft text&amp;RPage &amp;P</oddHeader></headerFooter></worksheet>`;
    const text = (at: string, value: string): string => `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;
    const book = makeOffice(
      'spreadsheetml.sheet',
      {
        'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Prices" sheetId="1" r:id="r1"/><sheet name="Second" sheetId="2" r:id="r2"/></sheets></workbook>`,
        'xl/styles.xml': `<styleSheet xmlns="${main}"><numFmts count="1"><numFmt numFmtId="164" formatCode="0.00%"/></numFmts><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="164" applyNumberFormat="1"/></cellXfs></styleSheet>`,
        'xl/worksheets/sheet1.xml': sheet(
          `<row r="1">${text('A1', 'name')}${text('XFD1', 'share')}</row><row r="5">${text('A5', 'ink')}<c r="XFD5" s="1"><v>0.125</v></c></row>`,
        ),
        'xl/worksheets/sheet2.xml': sheet(`<row r="1048576">${text('A1048576', 'far below')}</row>`),
      },
      {
        'xl/workbook.xml': {
          r1: ['worksheet', 'worksheets/sheet1.xml'],
          r2: ['worksheet', 'worksheets/sheet2.xml'],
          r3: ['styles', 'styles.xml'],
        },
      },
    );
    const found = await read(extractor, book);

    expect(found).toMatchObject({ format: 'xlsx', pages: 2 });
    expect(found.parts).toEqual([
      { kind: 'table', title: 'Prices', page: 1, header: 'name\tshare', text: 'ink\t12.50%' },
      { kind: 'table', title: 'Second', page: 2, header: 'far below', text: '' },
      { kind: 'text', title: 'Headers and footers', text: expect.stringContaining('Left text') as string },
    ]);
  });
});

describe('a presentation', () => {
  it('has its slides in the order in which they are shown, with titles, tables and notes', async () => {
    const shape = (text: string, placeholder = ''): string =>
      `<p:sp><p:nvSpPr><p:nvPr>${placeholder}</p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;
    const slide = (inside: string): string => `<p:sld xmlns:p="urn:p" xmlns:a="urn:a">${inside}</p:sld>`;
    const table =
      '<a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>left</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>right</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl>';
    const deck = makeOffice(
      'presentationml.presentation',
      {
        'ppt/presentation.xml':
          '<p:presentation xmlns:p="urn:p" xmlns:r="urn:r"><p:sldIdLst><p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/></p:sldIdLst></p:presentation>',
        'ppt/slides/slide1.xml': slide(table),
        'ppt/slides/slide2.xml': slide(shape('The start', '<p:ph type="title"/>') + shape('body')),
        'ppt/notesSlides/notesSlide1.xml': slide(shape('say it slowly')),
      },
      {
        'ppt/presentation.xml': { r1: ['slide', 'slides/slide1.xml'], r2: ['slide', '/ppt/slides/slide2.xml'] },
        'ppt/slides/slide2.xml': { r1: ['notesSlide', '../notesSlides/notesSlide1.xml'] },
      },
    );
    const found = await read(extractor, deck);

    expect(found).toMatchObject({ format: 'pptx', pages: 2 });
    expect(found.parts).toEqual([
      { kind: 'text', page: 1, title: 'The start', text: 'The start\nbody\n\nsay it slowly' },
      { kind: 'text', page: 2, text: 'left\tright' },
    ]);
  });
});

describe('an OpenDocument text', () => {
  it('has its headings, paragraphs and tables', async () => {
    const cell = (text: string): string => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`;
    const content = `<office:document-content xmlns:office="urn:o" xmlns:text="urn:t" xmlns:table="urn:a"><office:body><text:h text:outline-level="2">Plan</text:h><text:p>One<text:s/><text:span>two</text:span></text:p><table:table><table:table-row>${cell('a')}${cell('b')}</table:table-row></table:table></office:body></office:document-content>`;
    const odt = makeZip([
      { name: 'mimetype', bytes: Buffer.from('application/vnd.oasis.opendocument.text') },
      { name: 'content.xml', bytes: Buffer.from(content) },
    ]);
    const found = await read(extractor, odt);

    expect(found.format).toBe('odt');
    expect(shownIn(found)).toBe('## Plan One two a b');
  });
});

describe('a PDF', () => {
  it('has the text of its pages', async () => {
    await expect(read(extractor, tinyPdf('Greetings'))).resolves.toMatchObject({
      ...{ format: 'pdf', pages: 1, isRecognized: false },
      parts: [{ kind: 'text', text: 'Greetings', page: 1 }],
    });
  });
});

describe('a scan', () => {
  it('is read by the picture of its page', async () => {
    const found = await read(extractor, scannedPdf('HELLO'));
    expect(found).toMatchObject({ format: 'pdf', pages: 1, isRecognized: true, parts: [{ page: 1 }] });
    expect(shownIn(found).toUpperCase()).toContain('HELLO');
  });
});

describe('a picture', () => {
  it('has the text that is printed in it', async () => {
    const found = await read(extractor, drawnBitmap('HOTEL'));
    expect(found).toMatchObject({ format: 'bmp', isRecognized: true, isTruncated: false });
    expect(shownIn(found).toUpperCase()).toContain('HOTEL');
  });

  it('has its dimensions, also where there is no text in it', async () => {
    await expect(read(extractor, tinyPicture(40))).resolves.toMatchObject({
      ...{ format: 'png', width: 40, height: 40, parts: [], isRecognized: false },
    });
  });

  it('of absurd size is not decoded', async () => {
    const bomb = tinyPicture();
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    await expect(read(extractor, bomb)).resolves.toMatchObject({ width: 60_000, height: 60_000, parts: [] });
  });

  it('that is damaged behind its header has its dimensions alone', async () => {
    const png = tinyPicture(64);
    await expect(read(extractor, png.fill(0xaa, 45))).resolves.toMatchObject({ width: 64, parts: [] });
  });
});

describe('a web page', () => {
  it('has its text and headings, without scripts, styles and addresses', async () => {
    const page = `<!DOCTYPE html><html><head><title>The &amp; title</title><style>.x{}</style></head><body><h2>Head</h2><p>Text <a href="https://example.com/secret">link</a></p><script>alert(1)</script><noscript>no</noscript><img alt="a cat" src="cat.png"><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>`;
    const found = await read(extractor, page);

    expect(found).toMatchObject({ format: 'html', parts: [{ kind: 'markdown', title: 'The & title' }] });
    expect(shownIn(found)).toBe('The & title ## Head Text link a cat a b 1 2');
  });

  it('of any depth is read', async () => {
    const deep = `<html><body>top${'<div>'.repeat(20_000)}deep</body></html>`;
    expect(shownIn(await read(extractor, deep))).toContain('top');
  });
});

describe('text', () => {
  it('with separators is a table, whatever the separator is', async () => {
    const found = await read(extractor, 'name;sum\n"Smith; Ada";1\nBo;2\nCy;3\n', { name: 'a.csv' });
    expect(found).toMatchObject({
      format: 'csv',
      parts: [{ kind: 'table', header: 'name\tsum', text: 'Smith; Ada\t1\nBo\t2\nCy\t3' }],
    });
  });

  it('has no NUL and no half of a surrogate pair', async () => {
    const half = Buffer.from('\ufeffa\ud800b\0c', 'utf16le');
    const { parts } = await read(extractor, half);
    expect(parts[0]?.text).toBe('a\ufffdb\ufffdc');
  });

  it('is kept up to 20 million characters', async () => {
    const found = await read(extractor, 'lorem ipsum\n'.repeat(2_000_000));
    expect(found.isTruncated).toBe(true);
    expect(found.parts[0]?.text).toHaveLength(20_000_000);
  });

  it('without a visible character has no parts', async () => {
    await expect(read(extractor, ' \n\t\n')).resolves.toMatchObject({ format: 'text', parts: [] });
  });
});

describe('parts', () => {
  it('are split in the process too, and an empty text has no chunks', async () => {
    const never = new AbortController().signal;
    await expect(extractor.split([{ kind: 'text', text: 'One two.', page: 3 }], never)).resolves.toEqual([
      { text: 'One two.', page: 3, tokens: 3 },
    ]);
    await expect(extractor.split([], never)).resolves.toEqual([]);
  });
});
