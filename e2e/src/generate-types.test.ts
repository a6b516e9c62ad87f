// Types generated from a running system, as users use them: tsc mypy and pyright check valid and invalid calls (gap 75).
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startTestEngine, type TestEngine } from "@svc-runtime/engine/test-kit";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { svc } from "./support/cli.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "svc-types-"));
let engine: TestEngine;
const workers: Worker[] = [];

beforeAll(async () => {
  engine = await startTestEngine();
  const worker = connect(engine.url, { name: "provider", handleSignals: false, logger: silentLogger });
  const second = connect(engine.url, { name: "older", handleSignals: false, logger: silentLogger });
  workers.push(worker, second);
  const tree: Record<string, unknown> = {
    type: "object",
    properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } },
    required: ["name"],
  };
  worker.registerFunction("math::add", ({ a, b = 0 }) => ({ c: a + b }), {
    description: "Adds */ two numbers\nand more",
    requestFormat: z.object({ a: z.number(), b: z.number().optional() }),
    responseFormat: z.object({ c: z.number() }),
  });
  worker.registerFunction("tree::store", () => ({ stored: true }), { requestFormat: tree });
  worker.registerFunction("odd::keys", () => null, {
    requestFormat: {
      type: "object",
      properties: {
        "content-type": { enum: ["a/b", "c/d"] },
        class: { type: ["string", "null"] },
        plain: { type: "integer" },
      },
      required: ["content-type", "plain"],
      additionalProperties: true,
    },
    responseFormat: {
      type: "array",
      items: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
    },
  });
  const itself = { $ref: "#/$defs/A" };
  const hostile = {
    itself: { $ref: "#" },
    a_definition: { ...itself, $defs: { A: itself } },
    an_option: { ...itself, $defs: { A: { anyOf: [itself, { type: "null" }] } } },
    a_circle: { ...itself, $defs: { A: { $ref: "#/$defs/B" }, B: { anyOf: [itself, { type: "string" }] } } },
    a_map: { type: "object", additionalProperties: { $ref: "#" } },
    orders: {
      type: "object",
      properties: {
        a: { type: "string", description: "@ts-expect-error" },
        b: { enum: [1e21], description: "type: ignore" },
        c: { type: "string", description: "type: int" },
        d: { type: "string", description: "mypy: ignore-errors" },
      },
    },
    two_groups: {
      $defs: { X: { type: "string" } },
      definitions: { X: { type: "number" } },
      oneOf: [{ $ref: "#/$defs/X" }, { $ref: "#/definitions/X" }],
    },
  };
  for (const [name, format] of Object.entries(hostile))
    worker.registerFunction(`hostile::${name}`, () => null, { requestFormat: format });
  worker.registerFunction("no::formats", () => null);
  worker.registerFunction("two::minds", () => null, { requestFormat: { type: "string" } });
  await worker.connected();
  await worker.call({ function_id: "engine::info", payload: {} });
  second.registerFunction("two::minds", () => null, { requestFormat: { type: "number" } });
  await second.call({ function_id: "engine::info", payload: {} });
});

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.shutdown()));
  await engine?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const USER_FUNCTIONS = ["--include", "math::*", "tree::*", "odd::*", "no::*", "two::*"];
const generate = (...args: string[]) => svc(["generate", "types", ...args], { cwd: dir, url: engine.url });

interface Outcome {
  readonly code: number;
  readonly output: string;
}

function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  return new Promise((settle) => {
    execFile(
      command,
      [...args],
      { cwd: dir, env: { ...process.env, ...env }, timeout: 200_000 },
      (error, stdout, stderr) => {
        settle({ code: error === null ? 0 : typeof error.code === "number" ? error.code : 1, output: stdout + stderr });
      },
    );
  });
}

describe("svc generate types --lang typescript", () => {
  const tsc = async (source: string): Promise<Outcome> => {
    writeFileSync(join(dir, "use.ts"), source);
    return run(process.execPath, [join(root, "node_modules/typescript-7/bin/tsc"), "--project", dir]);
  };

  beforeAll(async () => {
    await mkdir(join(dir, "node_modules/@svc-runtime"), { recursive: true });
    symlinkSync(join(root, "packages/sdk"), join(dir, "node_modules/@svc-runtime/sdk"));
    writeFileSync(join(dir, "package.json"), `{"type": "module"}`);
    writeFileSync(
      join(dir, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          target: "ES2023",
          module: "NodeNext",
          strict: true,
          noEmit: true,
          skipLibCheck: true,
          types: [],
        },
        include: ["use.ts", "functions.ts"],
      }),
    );
    expect(await generate("--lang", "typescript", "--out", "functions.ts", ...USER_FUNCTIONS)).toMatchObject({
      code: 0,
    });
  });

  it("accept valid calls, including those of functions without formats", async () => {
    const outcome = await tsc(`
      import { connect } from "@svc-runtime/sdk";
      import type { TreeStorePayload } from "./functions.js";
      const worker = connect();
      const sum: { c: number } = await worker.call({ function_id: "math::add", payload: { a: 1 } });
      const tree: TreeStorePayload = { name: "root", children: [{ name: "leaf" }] };
      await worker.call({ function_id: "tree::store", payload: tree });
      const times: string[] = (await worker.call({ function_id: "odd::keys", payload: { "content-type": "a/b", plain: sum.c, extra: 1 } })).map(({ at }) => at);
      await worker.call({ function_id: "no::formats", payload: times });
      await worker.call({ function_id: "never::registered" });
    `);
    expect(outcome).toEqual({ code: 0, output: "" });
  });

  it("reject invalid ones at compile time", async () => {
    const { code, output } = await tsc(`
      import { connect } from "@svc-runtime/sdk";
      const worker = connect();
      await worker.call({ function_id: "math::add", payload: { a: "x" } });
      await worker.call({ function_id: "math::add" });
      await worker.call({ function_id: "tree::store", payload: { name: "root", children: [{}] } });
      (await worker.call({ function_id: "math::add", payload: { a: 1 } })).d;
      await worker.call({ function_id: "odd::keys", payload: { "content-type": "e/f", plain: 1 } });
    `);
    expect(code).not.toBe(0);
    expect([...output.matchAll(/^use\.ts\((\d+),/gm)].map(([, line]) => Number(line))).toEqual([4, 5, 6, 7, 8]);
  });

  it("generates the same text again, which --check compares, and reports a difference", async () => {
    expect(await generate("--lang", "typescript", "--out", "functions.ts", "--check", ...USER_FUNCTIONS)).toMatchObject(
      { code: 0 },
    );
    const text = readFileSync(join(dir, "functions.ts"), "utf8");
    writeFileSync(join(dir, "stale.ts"), `${text}\n`);

    expect(await generate("--lang", "typescript", "--out", "stale.ts", "--check", ...USER_FUNCTIONS)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is out of date"),
    });
    expect(
      await generate("--lang", "typescript", "--out", "stale.ts", "--check", "--include", "math::*", "it's"),
    ).toMatchObject({
      stderr: expect.stringContaining(
        "Write it: svc generate types --lang typescript --out stale.ts --include 'math::*' --include 'it'\\''s'\n",
      ),
    });
    expect(readFileSync(join(dir, "stale.ts"), "utf8")).toBe(`${text}\n`);
  });

  it("reports formats that differ between workers, and functions without any", async () => {
    const { stderr, stdout } = await generate(
      "--lang",
      "typescript",
      "--out",
      "functions.ts",
      "--json",
      ...USER_FUNCTIONS,
    );

    expect(stderr).toContain("provide two::minds register different formats");
    expect(JSON.parse(stdout)).toMatchObject({
      changed: false,
      without_formats: ["no::formats"],
      formats_differ: ["two::minds"],
    });
    expect(readFileSync(join(dir, "functions.ts"), "utf8")).toContain("Without formats, so not listed: no::formats");
  });

  it("reports that nothing matches", async () => {
    expect(await generate("--lang", "typescript", "--include", "nothing::*")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("No registered function matches"),
    });
    expect(await generate("--lang", "typescript", "--check")).toMatchObject({ code: 2 });
  });

  it("generates types that compile for every function of the engine", async () => {
    expect(await generate("--lang", "typescript", "--out", "functions.ts")).toMatchObject({ code: 0 });
    expect(await tsc("")).toEqual({ code: 0, output: "" });
    expect(await generate("--lang", "typescript", "--out", "functions.ts", ...USER_FUNCTIONS)).toMatchObject({
      code: 0,
    });
  });
});

describe("svc generate types --lang python", () => {
  const python = join(root, ".venv/bin/python");
  const env = { PYTHONPATH: join(root, "python/src"), MYPYPATH: join(root, "python/src") };
  const right = `import svc
from typed import TreeStorePayload, functions

worker = svc.connect()
calls = functions(worker)
c: float = calls.call({"function_id": "math::add", "payload": {"a": 1}, "timeout_ms": 100})["c"]
tree: TreeStorePayload = {"name": "root", "children": [{"name": "leaf"}]}
calls.call({"function_id": "tree::store", "payload": tree})
at: list[str] = [row["at"] for row in calls.call({"function_id": "odd::keys", "payload": {"content-type": "a/b", "plain": 1, "class": None}})]
worker.call({"function_id": "no::formats", "payload": at})

async def handler(context: svc.HandlerContext) -> float:
    return (await functions(context).call_async({"function_id": "math::add", "payload": {"a": 1}}))["c"]
`;
  const wrong = `import svc
from typed import functions

calls = functions(svc.connect())
calls.call({"function_id": "math::add", "payload": {"a": "x"}})
calls.call({"function_id": "math::add"})
calls.call({"function_id": "odd::keys", "payload": {"content-type": "e/f", "plain": 1}})
d: str = calls.call({"function_id": "math::add", "payload": {"a": 1}})["c"]
`;
  let checked: Outcome;
  /** Lines of a file with an error. */
  const errorLines = (file: string): number[] => [
    ...new Set(
      [...checked.output.matchAll(/^(\S+):(\d+): error/gm)]
        .filter(([, name]) => name === file)
        .map(([, , line]) => Number(line)),
    ),
  ];

  // One run of mypy for all files: reading the SDK and the standard library takes most of its time.
  beforeAll(async () => {
    expect(await generate("--lang", "python", "--out", "typed.py", ...USER_FUNCTIONS)).toMatchObject({ code: 0 });
    expect(await generate("--lang", "python", "--out", "all_functions.py")).toMatchObject({ code: 0 });
    writeFileSync(join(dir, "right.py"), right);
    writeFileSync(join(dir, "wrong.py"), wrong);
    const files = ["typed.py", "all_functions.py", "right.py", "wrong.py"];
    checked = await run(
      python,
      ["-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir", join(dir, ".mypy_cache"), ...files],
      env,
    );
    expect(checked.output).toContain("(checked 4 source files)");
  });

  it("accept valid calls", () => {
    expect(errorLines("right.py")).toEqual([]);
  });

  it("reject invalid ones", () => {
    expect(errorLines("wrong.py")).toEqual([5, 6, 7, 8]);
    expect(checked.code).toBe(1);
  });

  it("have nothing that pyright --strict reports, with the valid calls", async () => {
    const include = ["typed.py", "all_functions.py", "right.py"];
    const config = {
      typeCheckingMode: "strict",
      pythonVersion: "3.10",
      include,
      extraPaths: [join(root, "python/src")],
    };
    writeFileSync(join(dir, "pyrightconfig.json"), JSON.stringify(config));
    const pyright = join(root, "node_modules/pyright/index.js");
    expect(await run(process.execPath, [pyright, "--project", dir, "--pythonpath", python])).toEqual({
      code: 0,
      output: expect.stringMatching(/^0 errors, 0 warnings/),
    });
  });

  it("runs, and generates types that are valid for every function of the engine", async () => {
    expect(await run(python, ["-c", "import typed, all_functions"], env)).toEqual({ code: 0, output: "" });
    expect(checked.output).not.toMatch(/^(?!wrong\.py:).*: error/m);
  });
});
