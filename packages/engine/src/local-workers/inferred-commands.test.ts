import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { missingTsx } from "./inferred-commands.ts";
import { ManifestError, readManifest } from "./manifest.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-inferred-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function manifestWith(runtime: string, files: Readonly<Record<string, string>>) {
  for (const [name, text] of Object.entries({ ...files, "svc.worker.yaml": `name: w\nruntime: {${runtime}}\n` })) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return readManifest(folder);
}

const PACKAGE = { "package.json": "{}" };
const LOCAL = { "package.json": '{"dependencies":{"@svc-runtime/sdk":"file:../../sdk/svc-runtime-sdk-0.1.0.tgz"}}' };
const BERRY = "__metadata:\n  version: 8\n";

describe("the commands of a worker", () => {
  it.each<
    [
      runtime: string,
      files: Record<string, string>,
      manager: string | undefined,
      install: string | undefined,
      start: string,
    ]
  >([
    [
      "kind: python, entry: w.py",
      { "w.py": "", "uv.lock": "", "pyproject.toml": "" },
      "uv",
      "uv sync --locked",
      "python w.py",
    ],
    [
      "kind: python, entry: w.py, package_manager: uv",
      { "w.py": "", "pyproject.toml": "" },
      "uv",
      "uv sync",
      "python w.py",
    ],
    [
      "kind: python, entry: w.py, package_manager: uv",
      { "w.py": "", "requirements.txt": "" },
      "uv",
      "uv venv --allow-existing .venv && uv pip install -r requirements.txt",
      "python w.py",
    ],
    [
      "kind: python, entry: w.py",
      { "w.py": "", "poetry.lock": "", "pyproject.toml": "" },
      "poetry",
      "poetry install --no-interaction",
      "python w.py",
    ],
    ["kind: typescript, entry: w.ts", { "w.ts": "", ...PACKAGE }, "npm", "npm install", "node --import tsx w.ts"],
    [
      "kind: typescript, entry: w.ts",
      { "w.ts": "", "pnpm-lock.yaml": "", ...PACKAGE },
      "pnpm",
      "pnpm install --frozen-lockfile",
      "node --import tsx w.ts",
    ],
    [
      "kind: typescript, entry: w.ts",
      { "w.ts": "", "package.json": '{"packageManager":"pnpm@10.1.0"}' },
      "pnpm",
      "pnpm install",
      "node --import tsx w.ts",
    ],
    [
      "kind: javascript, entry: w.js",
      { "w.js": "", "yarn.lock": "# yarn lockfile v1\n", ...PACKAGE },
      "yarn",
      "yarn install --frozen-lockfile",
      "yarn node w.js",
    ],
    [
      "kind: typescript, entry: w.ts",
      { "w.ts": "", "yarn.lock": BERRY, ...PACKAGE },
      "yarn",
      "yarn install --immutable",
      "yarn run tsx w.ts",
    ],
    [
      "kind: typescript, entry: w.ts",
      { "w.ts": "", "yarn.lock": "", ...PACKAGE },
      "yarn",
      "yarn install",
      "yarn run tsx w.ts",
    ],
    [
      "kind: bun, entry: w.ts",
      { "w.ts": "", "bun.lock": "", ...PACKAGE },
      "bun",
      "bun install --frozen-lockfile",
      "bun run w.ts",
    ],
    ["kind: bun, entry: w.ts", { "w.ts": "" }, "bun", undefined, "bun run w.ts"],
    ["kind: deno, entry: w.ts", { "w.ts": "", "deno.json": "{}" }, "deno", "deno install", "deno run --allow-all w.ts"],
    [
      "kind: deno, entry: w.ts",
      { "w.ts": "", "deno.lock": "{}", ...PACKAGE },
      "deno",
      "deno install --frozen",
      "deno run --allow-all w.ts",
    ],
    ["kind: deno, entry: w.ts", { "w.ts": "", ...LOCAL }, "npm", "npm install", "deno run --allow-all w.ts"],
    ["kind: go", { "go.mod": "" }, "go", "go build -o .svc/worker .", ".svc/worker"],
    [
      "kind: go, entry: cmd/w/main.go",
      { "go.mod": "", "cmd/w/main.go": "" },
      "go",
      "go build -o .svc/worker ./cmd/w",
      ".svc/worker",
    ],
    [
      "kind: go, entry: cmd/w",
      { "go.mod": "", "cmd/w/main.go": "" },
      "go",
      "go build -o .svc/worker ./cmd/w",
      ".svc/worker",
    ],
    ["kind: rust", { "Cargo.toml": "" }, "cargo", "cargo build --release", "cargo run --release --quiet"],
    [
      "kind: rust, entry: src/bin/w.rs",
      { "Cargo.toml": "", "src/bin/w.rs": "" },
      "cargo",
      "cargo build --release --bin w",
      "cargo run --release --quiet --bin w",
    ],
  ])("with %s and %j", async (runtime, files, packageManager, install, start) => {
    expect(await manifestWith(runtime, files)).toMatchObject({ packageManager, install, start });
  });

  it("refuses an entry that Cargo makes no program of", async () => {
    await expect(manifestWith("kind: rust, entry: src/lib.rs", { "src/lib.rs": "" })).rejects.toThrow(ManifestError);
  });
});

describe("the package tsx", () => {
  it("is asked for where Node does not find it", async () => {
    const manifest = await manifestWith("kind: typescript, entry: w/w.ts", { "w/w.ts": "", ...PACKAGE });
    expect(await missingTsx(manifest)).toBe(
      `\`node --import tsx w/w.ts\` needs the package tsx, which is not installed in ${folder}; run \`npm install tsx\` there, or write another start command as \`scripts.start\` in the manifest`,
    );
    expect(await missingTsx({ ...manifest, packageManager: "pnpm" })).toContain("run `pnpm add tsx` there");
    expect(await missingTsx({ ...manifest, start: "node w.js" })).toBeUndefined();
    await mkdir(join(folder, "node_modules/tsx"), { recursive: true });
    await writeFile(join(folder, "node_modules/tsx/package.json"), "{}");
    expect(await missingTsx(manifest)).toBeUndefined();
    expect(await missingTsx({ ...manifest, folder: join(folder, "w") })).toBeUndefined();
  });
});
