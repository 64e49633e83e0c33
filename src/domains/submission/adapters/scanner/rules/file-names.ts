/** Files that a system runs, installs or loads because of their name. */
export const PROGRAM_EXTENSIONS: ReadonlySet<string> = parseExtensions(
  'exe dll so dylib com scr msi msix bat cmd vbs vbe jse wsf wsh hta cpl lnk pif reg jar war class pyc pyo pyd wasm node o a ko sys ' +
    'bin elf app apk ipa dmg pkg iso img deb rpm appimage crx xpi vsix whl egg gem nupkg zip tar gz tgz bz2 xz zst 7z rar cab',
);

/** Files that skills usually contain: text, data, and scripts that can be read. */
export const USUAL_EXTENSIONS: ReadonlySet<string> = parseExtensions(
  'md mdx markdown txt rst adoc json jsonc json5 jsonl ndjson yaml yml toml ini cfg conf properties csv tsv xml xsd xsl xslt dtd html htm css ' +
    'scss sass less svg js mjs cjs jsx ts mts cts tsx vue svelte astro py pyi ipynb sh bash zsh fish ps1 psm1 rb go rs java kt kts scala c h ' +
    'cc cpp hpp cs fs php pl pm lua r jl ex exs erl hs clj swift dart sql prisma graphql gql proto tf hcl gradle cmake mk tex bib dot gv mmd ' +
    'puml j2 jinja jinja2 tmpl template tpl hbs ejs liquid mustache lock diff patch example sample http rest snap',
);

/** Dotfiles that only tell tools how to format, list or ignore. */
export const HARMLESS_DOTFILES: ReadonlySet<string> = new Set([
  '.gitignore',
  '.gitkeep',
  '.gitattributes',
  '.keep',
  '.editorconfig',
  '.prettierrc',
  '.prettierignore',
  '.markdownlint.json',
  '.nvmrc',
]);

function parseExtensions(names: string): ReadonlySet<string> {
  return new Set(names.split(' ').map((name) => `.${name}`));
}
