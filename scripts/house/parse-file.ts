import { dirname, join } from 'node:path/posix';
import ts from 'typescript';

/** The facts of one file that the measures are made of. */
export interface ParsedFile {
  path: string;
  lines: number;
  /** The length in lines of each function that has a body in braces, the inner ones included. A callback that is written
   *  where it is passed counts with the function around it. */
  functionLines: number[];
  /** Paths of the files of ours that it imports or exports from, type imports included. */
  imports: string[];
  comments: string[];
}

export function parseFile(path: string, text: string): ParsedFile {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const functionLines: number[] = [];
  const imports: string[] = [];
  const comments = new Map<number, ts.CommentRange>();

  function visit(node: ts.Node): void {
    const target = importedBy(node);
    if (target !== undefined) imports.push(target);
    if (hasBody(node)) functionLines.push(linesOf(source, node));
    if (ts.isToken(node)) noteComments(node);
    node.getChildren(source).forEach(visit);
  }

  /** A comment belongs to the token before or behind it; both may name it, and its place tells that it is the same. */
  function noteComments(token: ts.Node): void {
    if (ts.isJsxText(token)) return;
    const ranges = [
      ...(ts.getLeadingCommentRanges(text, token.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, token.getEnd()) ?? []),
    ];
    for (const range of ranges) comments.set(range.pos, range);
  }

  visit(source);
  return {
    path,
    lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
    functionLines,
    imports: imports.filter((each) => each.startsWith('.')).map((each) => pathOf(path, each)),
    comments: joined(
      [...comments.values()].sort((one, other) => one.pos - other.pos),
      text,
    ),
  };
}

function importedBy(node: ts.Node): string | undefined {
  const isImport = ts.isImportDeclaration(node) || ts.isExportDeclaration(node);
  if (isImport)
    return node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier) ? node.moduleSpecifier.text : '';
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal)) {
    return node.argument.literal.text;
  }
  return undefined;
}

function hasBody(node: ts.Node): boolean {
  if (!ts.isFunctionLike(node) || (ts.isArrowFunction(node) && ts.isCallLikeExpression(node.parent))) return false;
  return 'body' in node && node.body !== undefined && ts.isBlock(node.body);
}

function linesOf(source: ts.SourceFile, node: ts.Node): number {
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
  return lineAt(node.getEnd()) - lineAt(node.getStart(source)) + 1;
}

/** Imports name the file that the compiler writes. */
function pathOf(importer: string, specifier: string): string {
  return join(dirname(importer), specifier).replace(/\.js$/, '.ts');
}

/** The words of each comment. Line comments with nothing but space between them are one comment. */
function joined(ranges: readonly ts.CommentRange[], text: string): string[] {
  const comments: string[] = [];
  let last: ts.CommentRange | undefined;
  for (const range of ranges) {
    const isLine = range.kind === ts.SyntaxKind.SingleLineCommentTrivia;
    const goesOn = isLine && last?.kind === range.kind && /^[ \t]*\r?\n?[ \t]*$/.test(text.slice(last.end, range.pos));
    const words = wordsOf(text.slice(range.pos, range.end));
    if (goesOn) comments.push(`${comments.pop() ?? ''} ${words}`);
    else comments.push(words);
    last = range;
  }
  return comments;
}

function wordsOf(comment: string): string {
  return comment
    .replace(/^\/\*+|\*+\/$/g, '')
    .replace(/^\s*(\/\/|\*)/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}
