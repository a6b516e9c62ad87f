import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { installWorker } from "./install.ts";
import { readManifest } from "./manifest.ts";

const run = promisify(execFile);
let project: string;
let folder: string;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), "svc-archives-"));
  folder = join(project, "workers", "w");
  await mkdir(folder, { recursive: true });
  await mkdir(join(project, "sdk"));
  for (const entry of ["w.js", "w.py"]) await writeFile(join(folder, entry), "");
});
afterEach(() => rm(project, { recursive: true, force: true }));

async function install(): Promise<readonly string[]> {
  const lines: string[] = [];
  const manifest = await readManifest(folder);
  await installWorker({ manifest, projectDir: project, onProgress: (line) => lines.push(line) });
  return lines;
}

/** Packs version 1.0.0 of a package for npm, with this text as its module. */
async function packForNode(text: string): Promise<void> {
  const source = join(project, "source", "package");
  await mkdir(source, { recursive: true });
  await writeFile(join(source, "package.json"), '{"name":"kit","version":"1.0.0"}');
  await writeFile(join(source, "index.js"), text);
  await run("tar", ["-czf", join(project, "sdk", "kit-1.0.0.tgz"), "-C", join(project, "source"), "package"]);
}

/** Builds a wheel of version 1.0.0, with this text as its module. */
async function packForPython(text: string): Promise<void> {
  const script = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("kit.py", sys.argv[2])
    wheel.writestr("kit-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: kit\\nVersion: 1.0.0\\n")
    wheel.writestr("kit-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("kit-1.0.0.dist-info/RECORD", "kit.py,,\\nkit-1.0.0.dist-info/METADATA,,\\nkit-1.0.0.dist-info/WHEEL,,\\nkit-1.0.0.dist-info/RECORD,,\\n")
`;
  await run("python3", ["-c", script, join(project, "sdk", "kit-1.0.0-py3-none-any.whl"), text]);
}

describe("an archive of the project that changed without a new version", () => {
  it("is installed again by npm, which would take the former one from its cache", async () => {
    const spec = "file:../../sdk/kit-1.0.0.tgz";
    const manifest = `{"name":"w","private":true,"dependencies":{"kit":"${spec}"}}`;
    await writeFile(join(folder, "package.json"), manifest);
    await writeFile(join(folder, "svc.worker.yaml"), "name: w\nruntime: {kind: javascript, entry: w.js}\n");
    await packForNode("one");
    await install();
    await packForNode("two");

    const lines = await install();

    expect(await readFile(join(folder, "node_modules/kit/index.js"), "utf8")).toBe("two");
    expect(await readFile(join(folder, "package.json"), "utf8")).toBe(manifest);
    expect(lines).toContain("changed since package-lock.json was written: ../../sdk/kit-1.0.0.tgz");
    // The lock file fits again.
    await run("npm", ["ci", "--offline", "--no-audit", "--no-fund"], { cwd: folder });
    expect(await readFile(join(folder, "node_modules/kit/index.js"), "utf8")).toBe("two");
  });

  it("is installed by npm after an install that was killed while it updated the lock file", {
    timeout: 60_000,
  }, async () => {
    const manifest = '{"name":"w","private":true,"dependencies":{"kit":"file:../../sdk/kit-1.0.0.tgz"}}';
    await writeFile(join(folder, "package.json"), manifest);
    await writeFile(join(folder, "svc.worker.yaml"), "name: w\nruntime: {kind: javascript, entry: w.js}\n");
    await packForNode("one");
    await install();
    const lockFile = join(folder, "package-lock.json");
    const lock = JSON.parse(await readFile(lockFile, "utf8")) as { packages: Record<string, unknown> };
    delete lock.packages["node_modules/kit"];
    await writeFile(lockFile, JSON.stringify(lock));
    await packForNode("two");

    await install();

    expect(await readFile(join(folder, "node_modules/kit/index.js"), "utf8")).toBe("two");
    expect(await readFile(lockFile, "utf8")).toContain('"node_modules/kit"');
  });

  it("is installed again by pip, which would keep the installed one", async () => {
    await writeFile(join(folder, "requirements.txt"), "--no-index\n--find-links ../../sdk\nkit==1.0.0\n");
    await writeFile(join(folder, "svc.worker.yaml"), "name: w\nruntime: {kind: python, entry: w.py}\n");
    await packForPython("VALUE = 1");
    await install();
    await packForPython("VALUE = 2");

    await install();

    const { stdout } = await run(join(folder, ".venv/bin/python"), ["-c", "import kit; print(kit.VALUE)"]);
    expect(stdout.trim()).toBe("2");
  });
});
