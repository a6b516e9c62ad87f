import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readManifest } from "./manifest.ts";
import { proposeManifest } from "./propose-manifest.ts";

let folder: string;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "svc-detect-")), "my shop");
  await mkdir(folder);
});

afterEach(async () => {
  await rm(dirname(folder), { recursive: true, force: true });
});

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}
const empty = (...names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, name.endsWith(".json") ? "{}" : ""]));

describe("a folder without a manifest", () => {
  it.each<[files: Record<string, string>, kind: string, manager: string | undefined, start: string]>([
    [
      empty("requirements.txt", "math_worker.py", "test_math.py", "helper.py"),
      "python",
      "pip",
      "python math_worker.py",
    ],
    [empty("pyproject.toml", "uv.lock", "main.py", "other.py"), "python", "uv", "python main.py"],
    [
      empty("package.json", "src/worker.ts", "src/other.ts", "vite.config.ts"),
      "typescript",
      "npm",
      "node --import tsx src/worker.ts",
    ],
    [empty("package.json", "index.mjs"), "javascript", "npm", "node index.mjs"],
    [{ ...empty("lib.js", "index.js"), "package.json": '{"main":"./lib.js"}' }, "javascript", "npm", "node lib.js"],
    [
      { ...empty("pnpm-lock.yaml"), "package.json": '{"main":"dist/gone.js","scripts":{"start":"x"}}' },
      "typescript",
      "pnpm",
      "pnpm start",
    ],
    [empty("package.json", "bun.lock", "worker.ts"), "bun", "bun", "bun run worker.ts"],
    [empty("deno.json", "main.ts"), "deno", "deno", "deno run --allow-all main.ts"],
    [empty("go.mod", "main.go"), "go", "go", ".svc/worker"],
    [empty("Cargo.toml", "src/bin/one.rs"), "rust", "cargo", "cargo run --release --quiet --bin one"],
  ])("that holds %o gets a manifest that can be used", async (files, kind, manager, start) => {
    await write(files);
    const proposal = await proposeManifest(folder);
    await writeFile(proposal?.file ?? "", proposal?.text ?? "");
    expect(await readManifest(folder)).toMatchObject({ name: "my-shop", kind, packageManager: manager, start });
    expect(await proposeManifest(folder)).toBeUndefined();
    expect(await readFile(join(folder, "svc.worker.yaml"), "utf8")).toMatch(
      /^# .*found [\w.]+ here\.\nname: my-shop\n/,
    );
  });

  it.each<[files: readonly string[], problem: string]>([
    [
      ["package.json", "pyproject.toml", "main.py"],
      "it has package.json and pyproject.toml, so it may be a typescript or a python worker",
    ],
    [["requirements.txt", "a.py", "b.py"], "it is not clear which script to start: a.py, b.py"],
    [["package.json", "types.d.ts"], "no script to start was found"],
    [
      ["go.mod", "cmd/a/main.go", "cmd/b/main.go"],
      "it is not clear which program to start: cmd/a/main.go, cmd/b/main.go",
    ],
  ])("that holds %o gets none, and its author is told why", async (files, problem) => {
    await write(empty(...files));
    await expect(proposeManifest(folder)).rejects.toThrow(problem);
  });

  it("that is no project gets none", async () => {
    await write(empty("README.md", "notes.txt"));
    expect(await proposeManifest(folder)).toBeUndefined();
    expect(await proposeManifest(join(folder, "gone"))).toBeUndefined();
  });
});
