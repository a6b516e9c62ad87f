import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManifestError, readManifest } from "./manifest.ts";
import { workerNameProblem } from "./worker-name.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-manifest-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

/** The message, with the folder's random path replaced. */
async function refusal(files: Readonly<Record<string, string>>): Promise<string> {
  await write(files);
  const error = await readManifest(folder).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ManifestError)) throw new Error(`expected a ManifestError, got ${String(error)}`);
  return error.message.replaceAll(folder, "W");
}

const PYTHON = "name: math-worker\nruntime:\n  kind: python\n  entry: math_worker.py\n";

describe("a folder without a manifest", () => {
  it("is told of a Python worker's needs, with the wheel that came with the project", async () => {
    const worker = join(folder, "workers/adder");
    await write({ "sdk/svc_runtime-0.1.0+project-py3-none-any.whl": "", "workers/adder/adder.py": "" });
    await expect(readManifest(worker)).rejects.toThrow(
      "  entry: adder.py\n\nIt needs a requirements.txt with the svc-runtime package, as the lines: --find-links ../../sdk and svc-runtime==0.1.0+project",
    );
  });

  it("is told of a TypeScript worker's needs, with the package that came with the project", async () => {
    const worker = join(folder, "workers/adder");
    await write({ "sdk/svc-runtime-sdk-0.1.0.tgz": "", "workers/adder/notes.txt": "" });
    await expect(readManifest(worker)).rejects.toThrow(
      "  entry: src/worker.ts\n\nWrite src/worker.ts. It needs a package.json with @svc-runtime/sdk and tsx; to create it, run in this folder: npm init -y && npm pkg set type=module && npm install ../../sdk/svc-runtime-sdk-0.1.0.tgz tsx",
    );
  });
});

describe("a manifest", () => {
  it("with a slip in its kind is refused with the kind that was probably meant", async () => {
    expect(
      await refusal({ "svc.worker.yaml": PYTHON.replace("kind: python", "kind: pyhton"), "math_worker.py": "" }),
    ).toContain(
      'svc.worker.yaml:3:9: runtime.kind: must be one of python, typescript, javascript, bun, deno, go, rust, other, got the text "pyhton"; did you mean python?',
    );
  });

  it("is read with all its fields", async () => {
    await write({
      "svc.worker.yaml": [
        "name: math-worker",
        "description: Adds numbers",
        "runtime:",
        "  kind: python",
        "  package_manager: pip",
        "  entry: math_worker.py",
        "scripts:",
        "  install: pip install -r requirements.txt",
        "  start: python -X dev math_worker.py",
        "env:",
        "  LEVEL: 3",
        "  DEBUG: true",
        "watch:",
        "  ignore: [data]",
      ].join("\n"),
    });
    expect(await readManifest(folder)).toEqual({
      name: "math-worker",
      description: "Adds numbers",
      kind: "python",
      packageManager: "pip",
      entry: "math_worker.py",
      install: "pip install -r requirements.txt",
      start: "python -X dev math_worker.py",
      env: { LEVEL: "3", DEBUG: "true" },
      watch: { ignore: ["data"] },
      folder,
      file: join(folder, "svc.worker.yaml"),
      warnings: [],
    });
  });

  it.each([
    ["a requirements file", { "requirements.txt": "" }, "pip install -r requirements.txt"],
    ["a pyproject file", { "pyproject.toml": "" }, "pip install -e ."],
    ["neither", {}, undefined],
  ])("infers the commands of a Python worker with %s", async (_what, files, install) => {
    await write({ "svc.worker.yaml": PYTHON, "math_worker.py": "", ...files });
    expect(await readManifest(folder)).toMatchObject({
      install,
      start: "python math_worker.py",
      packageManager: "pip",
    });
  });

  it.each([
    ["typescript", "src/worker.ts", { "package.json": "{}" }, "npm install", "node --import tsx src/worker.ts"],
    [
      "typescript",
      "src/worker.mts",
      { "package.json": "{}", "package-lock.json": "{}" },
      "npm ci",
      "node --import tsx src/worker.mts",
    ],
    ["javascript", "worker.js", {}, undefined, "node worker.js"],
    ["node", "my worker.js", {}, undefined, "node 'my worker.js'"],
  ])("infers the commands of a %s worker with entry %s", async (kind, entry, files, install, start) => {
    await write({ "svc.worker.yaml": `name: w\nruntime: {kind: ${kind}, entry: ${entry}}\n`, [entry]: "", ...files });
    expect(await readManifest(folder)).toMatchObject({
      install,
      start,
      kind: kind === "node" ? "javascript" : kind,
      packageManager: "npm",
    });
  });

  it("leaves variables in its values to the shell", async () => {
    process.env.SVC_TEST_GREETING = "replaced";
    try {
      await write({
        "svc.worker.yaml": `${PYTHON}scripts: {start: "echo \${SVC_TEST_GREETING}"}\nenv: {A: "\${SVC_TEST_GREETING:b}"}\n`,
        "math_worker.py": "",
      });
      expect(await readManifest(folder)).toMatchObject({
        start: `echo \${SVC_TEST_GREETING}`,
        env: { A: `\${SVC_TEST_GREETING:b}` },
      });
    } finally {
      delete process.env.SVC_TEST_GREETING;
    }
  });

  it("switches file watching off with watch: false", async () => {
    await write({ "svc.worker.yaml": `${PYTHON}watch: false\n`, "math_worker.py": "" });
    expect((await readManifest(folder)).watch).toBe(false);
  });

  it.each([
    [
      "a key with a typing mistake",
      "name: w\nruntime:\n  knd: python\n  kind: python\n",
      ['W/svc.worker.yaml:3:3: runtime.knd: unknown key "knd"; did you mean kind?'],
    ],
    [
      "the reference's word for kind",
      "name: w\nruntime:\n  kind: python\n  language: python\n",
      ['W/svc.worker.yaml:4:3: runtime.language: unknown key "language"; did you mean kind?'],
    ],
    [
      "a key that is like no other",
      "name: w\nruntime: {kind: python}\nzzzzzzzz: 1\n",
      [
        'W/svc.worker.yaml:3:1: zzzzzzzz: unknown key "zzzzzzzz"; known here: name, description, runtime, scripts, env, watch',
      ],
    ],
    [
      "a wrong kind",
      "name: w\nruntime:\n  kind: fortran\n",
      [
        'W/svc.worker.yaml:3:9: runtime.kind: must be one of python, typescript, javascript, bun, deno, go, rust, other, got the text "fortran"',
      ],
    ],
    [
      "several mistakes",
      "nme: w\nruntime:\n  kind: 3\n",
      [
        "W/svc.worker.yaml:1:1: name: is missing; it must be the worker's name, e.g. `math-worker`",
        'W/svc.worker.yaml:1:1: nme: unknown key "nme"; did you mean name?',
        "W/svc.worker.yaml:3:9: runtime.kind: must be one of python, typescript, javascript, bun, deno, go, rust, other, got 3",
      ],
    ],
    [
      "a name with a path in it",
      "name: ../evil\nruntime: {kind: python}\n",
      ["W/svc.worker.yaml:1:7: name: `../evil` contains other characters than letters, digits, `-`, `_` and `.`"],
    ],
    [
      "an empty scripts block",
      "name: w\nscripts:\nruntime: {kind: python}\n",
      ["W/svc.worker.yaml:2:1: scripts: must be a block with `install` and `start`, got nothing (null)"],
    ],
    [
      "an unknown key inside watch",
      "name: w\nruntime: {kind: python}\nwatch:\n  ignor: [a]\n",
      ['W/svc.worker.yaml:4:3: watch.ignor: unknown key "ignor"; did you mean ignore?'],
    ],
    [
      "a package manager that does not fit",
      "name: w\nruntime:\n  kind: python\n  package_manager: npm\n",
      [
        "W/svc.worker.yaml:4:20: runtime.package_manager: `npm` does not fit `kind: python`; expected one of `pip`, `uv`, `poetry`",
      ],
    ],
    [
      "an entry that is not there",
      "name: w\nruntime:\n  kind: python\n  entry: wrker.py\n",
      [
        "W/svc.worker.yaml:4:10: runtime.entry: there is no file `wrker.py` in W; expected the file to run, relative to the worker's folder, e.g. `src/worker.ts`",
      ],
    ],
    [
      "an entry outside of the folder",
      "name: w\nruntime:\n  kind: python\n  entry: ../a.py\n",
      [
        "W/svc.worker.yaml:4:10: runtime.entry: `../a.py` is outside the worker's folder; expected the file to run, relative to the worker's folder, e.g. `src/worker.ts`",
      ],
    ],
    [
      "neither entry nor start",
      "name: w\nruntime:\n  kind: python\n",
      [
        "W/svc.worker.yaml:3:3: runtime.entry: is missing; it must be the file to run, relative to the worker's folder, e.g. `src/worker.ts`, or give a start command in `scripts.start`",
      ],
    ],
    [
      "a package manager where there can be none",
      "name: w\nruntime:\n  kind: other\n  package_manager: npm\nscripts: {start: a}\n",
      [
        "W/svc.worker.yaml:4:20: runtime.package_manager: `npm` does not fit `kind: other`; expected no package manager, but `scripts`",
      ],
    ],
    [
      "a kind that says nothing of how it starts",
      "name: w\nruntime: {kind: other}\n",
      [
        "W/svc.worker.yaml:1:1: scripts.start: is missing; it must be a shell command, e.g. `python math_worker.py`, for `kind: other`",
      ],
    ],
    [
      "a variable that the engine sets",
      "name: w\nruntime: {kind: python}\nscripts: {start: a}\nenv:\n  SVC_URL: ws://x\n",
      ["W/svc.worker.yaml:5:12: env.SVC_URL: the engine sets this variable; remove it here"],
    ],
    [
      "a variable name that is none",
      "name: w\nruntime: {kind: python}\nscripts: {start: a}\nenv:\n  a b: c\n",
      [
        'W/svc.worker.yaml:5:8: env["a b"]: this is not a variable name; expected letters, digits and `_`, not starting with a digit',
      ],
    ],
    ["a list", "- a\n", ["W/svc.worker.yaml:1:1: must be a block with at least `name` and `runtime`, got a list"]],
    [
      "no content",
      "# later\n",
      ["W/svc.worker.yaml: must be a block with at least `name` and `runtime`, got nothing (null)"],
    ],
    [
      "values of wrong types",
      "name: w\nruntime: {kind: other}\nscripts: {start: 5}\nenv: {A: [1]}\nwatch:\n  ignore: data\n",
      [
        "W/svc.worker.yaml:3:18: scripts.start: must be a shell command, e.g. `python math_worker.py`, got 5",
        "W/svc.worker.yaml:4:10: env.A: must be text, a number, true or false, got a list",
        'W/svc.worker.yaml:6:11: watch.ignore: must be a list of file or folder names, e.g. `["data", "*.csv"]`, got the text "data"',
      ],
    ],
    [
      "a number for watch",
      "name: w\nruntime: {kind: other}\nwatch: 5\n",
      ["W/svc.worker.yaml:3:8: watch: must be false, or a block with `ignore`, got 5"],
    ],
    [
      "a duplicate key and a key that is unknown",
      "name: w\nname: v\nruntime: {kind: other}\nscript: {start: a}\n",
      [
        'W/svc.worker.yaml:2:1: name: the key "name" stands twice in the same block; keep one',
        'W/svc.worker.yaml:4:1: script: unknown key "script"; did you mean scripts?',
      ],
    ],
    [
      "a merge key",
      "name: w\nruntime: &r {kind: other}\nenv:\n  <<: *r\n  A: 1\nscripts: {<<: *r, start: a}\n",
      [
        'W/svc.worker.yaml:4:7: env["<<"]: must be text, a number, true or false, got a block of keys',
        'W/svc.worker.yaml:6:11: scripts["<<"]: unknown key "<<"; merge keys are not supported, write each key out',
      ],
    ],
    [
      "secrets in wrong places",
      'name: w\nruntime: postgres://ada:hunter22@db\nenv: {API_TOKEN: [hunter22]}\n"redis://:hunter22@db": 1\n',
      [
        'W/svc.worker.yaml:2:10: runtime: must be a block with `kind`, `package_manager` and `entry`, got the text "postgres://***@db"',
        "W/svc.worker.yaml:3:18: env.API_TOKEN: must be text, a number, true or false, got a list",
        'W/svc.worker.yaml:4:1: ["redis://***@db"]: unknown key "redis://***@db"; known here: name, description, runtime, scripts, env, watch',
      ],
    ],
  ])("with %s is refused with file, line, key and expectation", async (_what, text, expected) => {
    expect((await refusal({ "svc.worker.yaml": text })).split("\n").sort()).toEqual([...expected].sort());
  });

  it("that is no YAML is refused with the line", async () => {
    expect(await refusal({ "svc.worker.yaml": "name: w\nruntime: {kind: python\n" })).toBe(
      "W/svc.worker.yaml:3:1: a `{` or `[` above is never closed, or a line inside it is not indented deeper than its key",
    );
    expect(await refusal({ "svc.worker.yaml": `name: w\nruntime: {entry: \${HOME}}\n` })).toMatch(
      /^W\/svc\.worker\.yaml:2:\d+: .*needs quotes$/,
    );
    expect(await refusal({ "svc.worker.yaml": "%YAML 1.1\n---\nname: on\n" })).toBe(
      "W/svc.worker.yaml:1:1: this file is read as YAML 1.2; remove the line `%YAML 1.1`",
    );
  });

  it("that nests deeper than 64 levels is refused before it is parsed", async () => {
    for (const [nest, column] of [
      ["[".repeat(200_000), 65],
      ["{a: ".repeat(50_000), 251],
      ["- ".repeat(100_000), 129],
    ] as const) {
      expect(await refusal({ "svc.worker.yaml": `name: w\nenv:\n  ${nest}` })).toBe(
        `W/svc.worker.yaml:3:${column}: lists and maps are nested deeper than 64 levels`,
      );
    }
  });

  it("that is a device or a folder is refused without reading it", async () => {
    await symlink("/dev/zero", join(folder, "svc.worker.yaml"));
    expect(await refusal({})).toBe("W/svc.worker.yaml: the file cannot be read: it is not a regular file");
  });

  it("that is missing is asked for, with an example that fits the folder", async () => {
    const message = await refusal({ "hello.py": "" });
    expect(message).toContain("W/svc.worker.yaml: the file is missing");
    expect(message).toContain(
      `name: ${basename(folder)}\nruntime:\n  kind: python\n  package_manager: pip\n  entry: hello.py`,
    );
    await rm(join(folder, "hello.py"));
    expect(await refusal({ "package.json": "{}" })).toContain("kind: typescript");
  });

  it("of a folder that is none is refused", async () => {
    await expect(readManifest(join(folder, "no"))).rejects.toThrow("there is no such folder");
    await write({ file: "" });
    await expect(readManifest(join(folder, "file"))).rejects.toThrow("this is a file");
  });

  it("keeps names like __proto__ harmless", async () => {
    expect(
      await refusal({
        "svc.worker.yaml": "name: w\n__proto__: {polluted: 1}\nruntime: {kind: python}\nscripts: {start: a}\n",
      }),
    ).toContain("W/svc.worker.yaml:2:1: __proto__: __proto__ cannot be a key");
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe("the reference's manifest (compatibility)", () => {
  it("is read when there is no other, with its older keys", async () => {
    await write({
      "iii.worker.yaml":
        "runtime:\n  language: python\n  package_manager: pip\n  entry: math_worker\n  base_image: x\nresources: {cpus: 2}\nenv: {III_URL: a, KEEP: b}\n",
      "requirements.txt": "",
    });
    const manifest = await readManifest(folder);
    expect(manifest).toMatchObject({
      name: basename(folder),
      kind: "python",
      install: "pip install -r requirements.txt",
      start: "python -m math_worker",
      env: { KEEP: "b" },
    });
    expect(manifest.warnings).toHaveLength(2);
  });

  it("yields to our own", async () => {
    await write({ "svc.worker.yaml": PYTHON, "math_worker.py": "", "iii.worker.yaml": "name: other\n" });
    expect((await readManifest(folder)).name).toBe("math-worker");
  });
});

describe("a worker's name", () => {
  it("may hold letters, digits, dash, underscore and dot", () => {
    expect(["math-worker", "a", "A_1.b"].map(workerNameProblem)).toEqual([undefined, undefined, undefined]);
  });

  it("may not be or hold anything that means something in a path", () => {
    for (const name of ["", ".hidden", "a..b", "a/b", "a b", "ä", "a\n", "x".repeat(201)])
      expect(workerNameProblem(name), name).toBeDefined();
  });
});
