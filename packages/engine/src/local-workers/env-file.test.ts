import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { defaultEnvFile, EnvFileError, readEnvFiles } from "./env-file.ts";
import { workerEnvironment } from "./environment.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-env-file-"));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

const named = (name: string) => ({ path: join(folder, name), required: true });

describe("files of variables", () => {
  it("are read with quotes, comments and lines in values; of two the later counts", async () => {
    await writeFile(
      join(folder, "a"),
      "# all\nexport PLAIN=1 # one\nQUOTED='a # b'\nLINES=\"x\\ny\"\nTWICE=first\nEMPTY=\n",
    );
    await writeFile(join(folder, "b"), "TWICE=second\n");
    expect(await readEnvFiles([named("a"), named("b")])).toEqual({
      PLAIN: "1",
      QUOTED: "a # b",
      LINES: "x\ny",
      TWICE: "second",
      EMPTY: "",
    });
  });

  it("cannot cut a worker off from its engine", async () => {
    await writeFile(join(folder, ".env"), "SVC_URL=ws://elsewhere\nSVC_TOKEN=t\nSVC_WORKER_NAME=n\nKEPT=1\n");
    expect(await readEnvFiles([defaultEnvFile(folder)])).toEqual({ KEPT: "1" });
  });

  it("may be missing when nobody named them, and only then", async () => {
    expect(await readEnvFiles([defaultEnvFile(folder)])).toEqual({});
    await expect(readEnvFiles([named("gone.env")])).rejects.toThrow("gone.env: there is no such file");
  });

  it("that cannot be used are refused without showing what they hold", async () => {
    await writeFile(join(folder, "nul"), "SECRET=hunter2\0");
    await writeFile(join(folder, "big"), `SECRET=hunter2${"x".repeat(300_000)}`);
    await mkdir(join(folder, "folder"));
    for (const [name, problem] of Object.entries({ nul: "NUL", big: "at most", folder: "not a file" })) {
      const error: unknown = await readEnvFiles([named(name)]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(EnvFileError);
      expect((error as Error).message).toContain(problem);
      expect((error as Error).message).not.toContain("hunter2");
    }
  });

  it("yield to the engine's own environment, and that to the manifest", () => {
    vi.stubEnv("BOTH", "engine");
    vi.stubEnv("ALL", "engine");
    const env = workerEnvironment(
      { kind: "other", folder, env: { ALL: "manifest" } },
      { BOTH: "file", ALL: "file", ALONE: "file" },
    );
    expect(env).toMatchObject({ BOTH: "engine", ALL: "manifest", ALONE: "file" });
  });
});
