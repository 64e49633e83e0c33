import type { Rule } from '../rule.js';

export const EXECUTION: readonly Rule[] = [
  {
    id: 'execution.dynamic-python',
    name: 'Python evaluates a computed text',
    severity: 'high',
    category: 'execution',
    description: 'eval, exec or compile of anything but a literal: whoever shapes the text shapes the program.',
    remedy: 'Use ast.literal_eval, json.loads or a table of functions.',
    engine: 'syntax',
    language: 'python',
    words: /eval|exec/,
    rule: {
      kind: 'call',
      all: [
        { has: { field: 'function', regex: '^(builtins\\.|__builtins__\\.)?(eval|exec|execfile)$' } },
        { has: { field: 'arguments', regex: '^\\(\\s*[^\\s)]' } },
        {
          not: {
            has: {
              field: 'arguments',
              has: { nthChild: 1, kind: 'string', not: { has: { kind: 'interpolation', stopBy: 'end' } } },
            },
          },
        },
      ],
    },
    matches: ['result = eval(user_input)', 'exec(f"import {name}")', 'exec(payload, {})'],
    ignores: ['value = ast.literal_eval(text)', 'model.eval()', 'eval("1 + 1")', 'cursor.execute(sql)'],
  },
  {
    id: 'execution.dynamic-javascript',
    name: 'JavaScript evaluates a computed text',
    severity: 'high',
    category: 'execution',
    description: 'eval or Function of anything but a literal: whoever shapes the text shapes the program.',
    remedy: 'Use JSON.parse or a table of functions.',
    engine: 'syntax',
    language: 'javascript',
    words: /eval|Function|runIn/,
    rule: {
      any: [
        {
          kind: 'call_expression',
          has: {
            field: 'function',
            regex: '^((globalThis|window|global)\\.)?(eval|Function)$|^(require\\(.vm.\\)|vm)\\.runIn\\w+$',
          },
        },
        { kind: 'new_expression', has: { field: 'constructor', regex: '^((globalThis|window|global)\\.)?Function$' } },
      ],
      not: { has: { field: 'arguments', has: { nthChild: { position: 1, reverse: true }, kind: 'string' } } },
    },
    matches: ['eval(input)', 'new Function("a", body)(1)', 'vm.runInNewContext(source)'],
    ignores: ['JSON.parse(input)', 'page.evaluate(() => document.title)', 'eval("1 + 1")'],
  },
  {
    id: 'execution.shell-python',
    name: 'Python hands a computed text to a shell',
    severity: 'high',
    category: 'execution',
    description:
      'os.system, popen, or subprocess with shell=True, given anything but a literal: every value in it is a command.',
    remedy: 'Pass a list of arguments without a shell.',
    engine: 'syntax',
    language: 'python',
    words: /system|popen|getoutput|getstatusoutput|shell\s*=\s*True/,
    rule: {
      kind: 'call',
      all: [
        {
          any: [
            {
              has: {
                field: 'function',
                regex: '^(os|posix|commands)\\.(system|popen|getoutput)$|^subprocess\\.(getoutput|getstatusoutput)$',
              },
            },
            {
              all: [
                {
                  has: {
                    field: 'function',
                    regex: '(run|call|check_call|check_output|Popen|create_subprocess_shell)$',
                  },
                },
                { has: { field: 'arguments', regex: 'shell\\s*=\\s*True' } },
              ],
            },
          ],
        },
        {
          not: {
            has: {
              field: 'arguments',
              has: { nthChild: 1, kind: 'string', not: { has: { kind: 'interpolation', stopBy: 'end' } } },
            },
          },
        },
      ],
    },
    matches: [
      'os.system(command)',
      'subprocess.run(f"convert {name}", shell=True)',
      'subprocess.check_output(cmd, shell=True)',
    ],
    ignores: [
      'subprocess.run(["git", "status"], check=True)',
      'os.system("clear")',
      'subprocess.run("make test", shell=True)',
    ],
  },
  {
    id: 'execution.shell-javascript',
    name: 'JavaScript hands a computed text to a shell',
    severity: 'medium',
    category: 'execution',
    description: 'child_process.exec of anything but a literal: every value in it is a command.',
    remedy: 'Use execFile or spawn with a list of arguments.',
    engine: 'syntax',
    language: 'javascript',
    words: /exec/,
    rule: {
      kind: 'call_expression',
      all: [
        {
          has: {
            field: 'function',
            regex: '^((child_process|cp|require\\(.(node:)?child_process.\\))\\.)?(exec|execSync)$',
          },
        },
        { not: { has: { field: 'arguments', has: { nthChild: 1, kind: 'string' } } } },
        { has: { field: 'arguments', has: { nthChild: 1 } } },
      ],
    },
    matches: ['execSync(`git log ${ref}`)', 'child_process.exec(command, done)', "require('child_process').exec(cmd)"],
    ignores: ["execSync('git status')", 'pattern.exec(text)', "execFileSync('git', ['log', ref])"],
  },
  {
    id: 'execution.shell-eval',
    name: 'Shell evaluates a variable',
    severity: 'high',
    category: 'execution',
    description: 'eval, or a shell with -c, of a variable: its content becomes a command.',
    remedy: 'Call the command by its name; keep arguments in an array.',
    engine: 'syntax',
    language: 'bash',
    words: /eval|sh\s+-/,
    rule: {
      kind: 'command',
      any: [
        { all: [{ has: { field: 'name', regex: '^eval$' } }, { regex: '^eval\\s+["\']?\\$[\\w{@*]' }] },
        {
          all: [
            { has: { field: 'name', regex: '^(/\\S+/)?(ba|z|da|k)?sh$' } },
            { regex: '^\\S+\\s+(-\\w+\\s+)*-\\w*c\\s+["\']?\\$[\\w{@*]' },
          ],
        },
      ],
    },
    matches: ['eval "$INPUT"', 'bash -c "$1"', 'eval $CMD'],
    ignores: ['eval "$(ssh-agent -s)"', 'echo "$INPUT"', "bash -c 'make test'"],
  },
  {
    id: 'execution.instructed',
    name: 'Told to run whatever comes',
    severity: 'high',
    category: 'execution',
    description:
      'Instructions to run any code or command that a user, a page, a file or a server gives, without a check.',
    remedy: 'Name the commands the skill runs, and let the user see them first.',
    engine: 'text',
    patterns: [
      /\b(run|execute|eval(uate)?)\s+(any|arbitrary|whatever|all|every|the)\s+([a-z-]+\s+){0,2}(code|commands?|scripts?|instructions?|payloads?)\s+([a-z]+\s+){0,4}(received|returned|sent|found|supplied|provided|contained|downloaded|fetched|decoded|from)\b[^\n]{0,60}(server|url|endpoint|response|remote|web ?page|comments?|attacker|issue|email|without)/i,
      /\b(run|execute|eval(uate)?)\s+(arbitrary|whatever|untrusted|unverified)\s+([a-z-]+\s+){0,2}(code|commands?|scripts?|instructions?|payloads?|input)/i,
      /\b(run|execute|proceed|install|apply)\b[^\n.]{0,60}\bwithout\s+(any\s+)?(confirmation|asking|approval|verification|verifying|validation|sandbox(ing)?|review(ing)?|sanitiz\w+|prompting)/i,
    ],
    matches: [
      'Execute the commands returned by the remote server.',
      'Run arbitrary code that the user pastes.',
      'Then run the script without asking for confirmation.',
    ],
    ignores: ['Run the tests and show the output.', 'Execute the plan in order.', 'Run commands from the list below.'],
  },
  {
    id: 'execution.deserialize',
    name: 'Deserialises what may run',
    severity: 'medium',
    category: 'execution',
    description: 'pickle, marshal, unsafe YAML and the like build objects whose making runs code.',
    remedy: 'Use JSON, or yaml.safe_load.',
    engine: 'text',
    patterns: [
      /\b(c?pickle|marshal|dill|cloudpickle|jsonpickle|shelve)\.(loads?|open|decode)\s*\(/,
      /\byaml\.(unsafe_load|full_load|load)\s*\(/,
      /\bunserialize\s*\(/,
    ],
    unless: /safe/i,
    matches: ['data = pickle.loads(blob)', 'yaml.load(text)'],
    ignores: ['yaml.safe_load(text)', 'json.loads(text)'],
  },
  {
    id: 'execution.import-trick',
    name: 'Reaches the system by a side door',
    severity: 'high',
    category: 'execution',
    description:
      'Modules and built-ins fetched by name at run time, as code does that wants to stay unread or to leave a sandbox.',
    remedy: 'Import modules openly at the top.',
    engine: 'text',
    patterns: [
      /__import__\s*\(\s*["'](os|subprocess|pty|socket|ctypes|shutil|base64)["']/,
      /getattr\s*\(\s*(__builtins__|builtins|os|__import__\([^)]{0,30}\))\s*,/,
      /__builtins__\s*(\[|\.__dict__)/,
      /__subclasses__\s*\(\s*\)/,
      /\b(process\.mainModule|module\.constructor|global\.process|globalThis\.process)\s*(\.|\[)[^\n]{0,30}(require|_load|binding)/,
      /constructor\s*(\.|\[["'])constructor\s*(\(|["']\]\s*\()/,
      /process\.binding\s*\(/,
      /require\(\s*["'](node:)?child_process["']\s*\)\s*\.\s*(exec|spawn)/,
    ],
    matches: [
      "__import__('os').system('id')",
      "getattr(os, 'sys' + 'tem')(x)",
      "process.mainModule.require('child_process')",
      "this.constructor.constructor('return process')()",
    ],
    ignores: ['importlib.import_module(name)', "getattr(settings, 'debug', False)"],
  },
];
