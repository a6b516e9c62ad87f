import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { bundledTemplates, type TemplateSource } from "../project/templates.ts";
import { recordedShell } from "../shell.test-support.ts";
import { createProject } from "./create.ts";

let dir: string;
let source: TemplateSource;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "svc-create-"));
  const assetsDir = join(dir, "assets");
  await mkdir(assetsDir);
  await writeFile(join(assetsDir, "svc-runtime-sdk-0.1.0.tgz"), "sdk one");
  await writeFile(join(assetsDir, "svc_runtime-0.1.0-py3-none-any.whl"), "wheel one");
  source = { templatesDir: bundledTemplates.templatesDir, assetsDir };
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const quickstart = { template: "quickstart", directory: "project" } as const;

describe("svc create", () => {
  it("creates the folder with the template's files and the SDK packages, all from svc itself, and shows the next steps (gap 68)", async () => {
    const shell = recordedShell({ cwd: dir });

    await createProject(shell, quickstart, source);

    expect((await readdir(join(dir, "project"))).sort()).toEqual([
      ".gitignore",
      "README.md",
      "config.yaml",
      "sdk",
      "workers",
    ]);
    expect(await readdir(join(dir, "project/sdk"))).toEqual([
      "svc-runtime-sdk-0.1.0.tgz",
      "svc_runtime-0.1.0-py3-none-any.whl",
    ]);
    expect(shell.written.notes).toContain("cd project\n  svc dev\n");
    expect(shell.written.notes).toContain("  config.yaml\n");
    expect(shell.written.notes).toContain("  sdk/svc-runtime-sdk-0.1.0.tgz\n");
    expect(shell.written.out).toBe("");
  });

  it("keeps changed files of an existing project and restores missing ones", async () => {
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

  it("updates the SDK packages of an existing project and reports it", async () => {
    await createProject(recordedShell({ cwd: dir }), quickstart, source);
    await writeFile(join(source.assetsDir, "svc-runtime-sdk-0.1.0.tgz"), "sdk two");
    const shell = recordedShell({ cwd: dir });

    await createProject(shell, { ...quickstart, json: true }, source);

    expect(await readFile(join(dir, "project/sdk/svc-runtime-sdk-0.1.0.tgz"), "utf8")).toBe("sdk two");
    expect(JSON.parse(shell.written.out)).toMatchObject({ reused: true, sdk_changed: true });
    expect(shell.written.notes).toContain(
      "The next start of the engine installs them; with a running engine: svc worker update --all",
    );
  });

  it("rejects a folder with other content and does not change it", async () => {
    await mkdir(join(dir, "project"));
    await writeFile(join(dir, "project/thesis.txt"), "mine");

    await expect(createProject(recordedShell({ cwd: dir }), quickstart, source)).rejects.toMatchObject({
      exitCode: EXIT.failed,
      message: expect.stringContaining("not empty"),
    });
    expect(await readdir(join(dir, "project"))).toEqual(["thesis.txt"]);
  });

  it("rejects a directory that is a file", async () => {
    await writeFile(join(dir, "project"), "mine");

    await expect(createProject(recordedShell({ cwd: dir }), quickstart, source)).rejects.toMatchObject({
      exitCode: EXIT.failed,
      message: expect.stringContaining("is a file"),
    });
  });

  it("lists the templates if the given one is unknown", async () => {
    await expect(
      createProject(recordedShell({ cwd: dir }), { ...quickstart, template: "quikstart" }, source),
    ).rejects.toMatchObject({
      exitCode: EXIT.usage,
      advice: expect.arrayContaining([expect.stringContaining("quickstart: ")]),
    });
  });

  it("explains how to build the SDK packages if they are missing", async () => {
    await rm(source.assetsDir, { recursive: true });

    await expect(createProject(recordedShell({ cwd: dir }), quickstart, source)).rejects.toMatchObject({
      exitCode: EXIT.failed,
      advice: [expect.stringContaining("pack-sdks")],
    });
  });

  it("asks for the template and the folder, which defaults to the template's name", async () => {
    const shell = recordedShell({ cwd: dir, answers: ["typescript", ""] });
    await createProject(shell, {}, source);
    await createProject(recordedShell({ cwd: dir, answers: ["python", " shop "] }), {}, source);

    expect(shell.written.notes).toContain("Which template?");
    expect(await readdir(join(dir, "typescript/workers/greeter"))).toContain("package.json");
    expect(await readdir(join(dir, "shop/workers/greeter"))).toContain("requirements.txt");
  });

  it("expands ~ to the home folder, in an answer and in --directory", async () => {
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

  it("requires all options if there is no terminal", async () => {
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

  it.each([
    ["python", "typescript"],
    ["typescript", "python"],
  ])(
    "adds nothing to a %s project when asked for a %s project, whose worker has the same name",
    async (made, asked) => {
      await createProject(recordedShell({ cwd: dir }), { template: made, directory: "project" }, source);
      const before = await readdir(join(dir, "project"), { recursive: true });

      await expect(
        createProject(recordedShell({ cwd: dir }), { template: asked, directory: "project" }, source),
      ).rejects.toMatchObject({ message: `project is not empty and is not a ${asked} project.` });

      expect(await readdir(join(dir, "project"), { recursive: true })).toEqual(before);
    },
  );

  it("recognises a blank project and nothing else as one", async () => {
    const blank = { template: "blank", directory: "project" };
    await createProject(recordedShell({ cwd: dir }), blank, source);
    const shell = recordedShell({ cwd: dir });
    await createProject(shell, blank, source);
    expect(shell.written.notes).toContain("is already a blank project");

    await rm(join(dir, "project/sdk"), { recursive: true });
    await expect(createProject(recordedShell({ cwd: dir }), blank, source)).rejects.toMatchObject({
      message: expect.stringContaining("not empty"),
    });
  });
});
