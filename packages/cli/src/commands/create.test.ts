import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { recordedShell } from "../shell.test-support.ts";
import { bundledTemplates, type TemplateSource } from "../templates.ts";
import { createProject } from "./create.ts";

let dir: string;
let source: TemplateSource;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "svc-create-"));
  const assetsDir = join(dir, "assets");
  await mkdir(assetsDir);
  await writeFile(join(assetsDir, "svc-sdk-0.1.0.tgz"), "sdk one");
  await writeFile(join(assetsDir, "svc-0.1.0-py3-none-any.whl"), "wheel one");
  source = { templatesDir: bundledTemplates.templatesDir, assetsDir };
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const quickstart = { template: "quickstart", directory: "project" } as const;

describe("svc create", () => {
  it("makes the folder with the template's files and the SDK packages, all from svc itself, and says what to type next (gap 68)", async () => {
    const shell = recordedShell({ cwd: dir });

    await createProject(shell, quickstart, source);

    expect((await readdir(join(dir, "project"))).sort()).toEqual([".gitignore", "README.md", "config.yaml", "sdk", "workers"]);
    expect(await readdir(join(dir, "project/sdk"))).toEqual(["svc-0.1.0-py3-none-any.whl", "svc-sdk-0.1.0.tgz"]);
    expect(shell.written.notes).toContain("cd project\n  svc dev\n");
    expect(shell.written.notes).toContain("  config.yaml\n");
    expect(shell.written.notes).toContain("  sdk/svc-sdk-0.1.0.tgz\n");
    expect(shell.written.out).toBe("");
  });

  it("keeps what the user changed in a project that is there, and brings back what is missing", async () => {
    await createProject(recordedShell({ cwd: dir }), quickstart, source);
    await writeFile(join(dir, "project/config.yaml"), "workers: [] # mine\n");
    await rm(join(dir, "project/README.md"));

    await createProject(recordedShell({ cwd: dir }), quickstart, source);

    expect(await readFile(join(dir, "project/config.yaml"), "utf8")).toBe("workers: [] # mine\n");
    expect(await readFile(join(dir, "project/README.md"), "utf8")).toContain("svc quickstart");
  });

  it("overwrites files of the same name with --force", async () => {
    await createProject(recordedShell({ cwd: dir }), quickstart, source);
    await writeFile(join(dir, "project/config.yaml"), "workers: [] # mine\n");

    await createProject(recordedShell({ cwd: dir }), { ...quickstart, force: true }, source);

    expect(await readFile(join(dir, "project/config.yaml"), "utf8")).not.toContain("mine");
  });

  it("gives a project that is there the SDK packages of this svc, and says so", async () => {
    await createProject(recordedShell({ cwd: dir }), quickstart, source);
    await writeFile(join(source.assetsDir, "svc-sdk-0.1.0.tgz"), "sdk two");
    const shell = recordedShell({ cwd: dir });

    await createProject(shell, { ...quickstart, json: true }, source);

    expect(await readFile(join(dir, "project/sdk/svc-sdk-0.1.0.tgz"), "utf8")).toBe("sdk two");
    expect(JSON.parse(shell.written.out)).toMatchObject({ reused: true, sdk_changed: true });
  });

  it("refuses a folder that holds something else, and leaves it alone", async () => {
    await mkdir(join(dir, "project"));
    await writeFile(join(dir, "project/thesis.txt"), "mine");

    await expect(createProject(recordedShell({ cwd: dir }), quickstart, source)).rejects.toMatchObject({
      exitCode: EXIT.failed,
      message: expect.stringContaining("not empty"),
    });
    expect(await readdir(join(dir, "project"))).toEqual(["thesis.txt"]);
  });

  it("refuses a directory that is a file", async () => {
    await writeFile(join(dir, "project"), "mine");

    await expect(createProject(recordedShell({ cwd: dir }), quickstart, source)).rejects.toMatchObject({
      exitCode: EXIT.failed,
      message: expect.stringContaining("is a file"),
    });
  });

  it("names the templates that there are when asked for another", async () => {
    await expect(createProject(recordedShell({ cwd: dir }), { ...quickstart, template: "quikstart" }, source)).rejects.toMatchObject({
      exitCode: EXIT.usage,
      advice: expect.arrayContaining([expect.stringContaining("quickstart: ")]),
    });
  });

  it("says how to build the SDK packages when they are not there", async () => {
    await rm(source.assetsDir, { recursive: true });

    await expect(createProject(recordedShell({ cwd: dir }), quickstart, source)).rejects.toMatchObject({
      exitCode: EXIT.failed,
      advice: [expect.stringContaining("pack-sdks")],
    });
  });

  it("asks for the template and the folder, which is called like the template unless one says otherwise", async () => {
    const shell = recordedShell({ cwd: dir, answers: ["typescript", ""] });
    await createProject(shell, {}, source);
    await createProject(recordedShell({ cwd: dir, answers: ["python", " shop "] }), {}, source);

    expect(shell.written.notes).toContain("Which template?");
    expect(await readdir(join(dir, "typescript/workers/greeter"))).toContain("package.json");
    expect(await readdir(join(dir, "shop/workers/greeter"))).toContain("requirements.txt");
  });

  it("takes ~ for the home folder, typed as an answer or with --directory", async () => {
    const env = { HOME: join(dir, "home") };
    await createProject(recordedShell({ cwd: dir, env, answers: ["blank", "~/one"] }), {}, source);
    await createProject(recordedShell({ cwd: dir, env }), { template: "blank", directory: "~/two" }, source);

    expect((await readdir(env.HOME)).toSorted()).toEqual(["one", "two"]);
    expect(await readdir(dir)).not.toContain("~");
  });

  it("creates nothing when the answer is Ctrl-C", async () => {
    for (const answers of [[], ["blank"]]) {
      await expect(createProject(recordedShell({ cwd: dir, answers }), {}, source)).rejects.toMatchObject({
        message: "Nothing was created.",
        exitCode: EXIT.failed,
      });
    }
    expect(await readdir(dir)).toEqual(["assets"]);
  });

  it("wants everything said where nobody can be asked", async () => {
    const shell = recordedShell({ cwd: dir });

    await expect(createProject(shell, { directory: "project" }, source)).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining("--template"),
    });
    await expect(createProject(shell, { template: "blank" }, source)).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining("--directory"),
    });
  });

  it("knows a blank project again, and takes nothing else for one", async () => {
    const blank = { template: "blank", directory: "project" };
    await createProject(recordedShell({ cwd: dir }), blank, source);
    const shell = recordedShell({ cwd: dir });
    await createProject(shell, blank, source);
    expect(shell.written.notes).toContain("is a blank project already");

    await rm(join(dir, "project/sdk"), { recursive: true });
    await expect(createProject(recordedShell({ cwd: dir }), blank, source)).rejects.toMatchObject({ message: expect.stringContaining("not empty") });
  });
});
