import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bundledTemplates, listTemplates, templateFiles } from "./templates.ts";

const repository = join(bundledTemplates.templatesDir, "..", "..", "..");

it("lists the templates with descriptions and next steps, the quickstart first", async () => {
  const templates = await listTemplates(bundledTemplates);

  expect(templates.map(({ name }) => name)).toEqual(["quickstart", "typescript", "python", "blank"]);
  expect(templates[0]).toEqual({
    name: "quickstart",
    description: expect.stringContaining("Python"),
    nextSteps: expect.arrayContaining(["svc dev"]),
  });
});

it("has descriptions that fit into 80 columns", async () => {
  const templates = await listTemplates(bundledTemplates);
  const width = Math.max(...templates.map(({ name }) => name.length));

  expect(templates.filter(({ description }) => "● ".length + width + "  ".length + description.length > 79)).toEqual(
    [],
  );
});

it("copies gitignore as .gitignore and omits template.json", async () => {
  const files = (await templateFiles(bundledTemplates, "quickstart")).map((file) => file.to);

  expect(files.toSorted()).toEqual([
    ".gitignore",
    "README.md",
    "config.yaml",
    "workers/caller-worker/package.json",
    "workers/caller-worker/src/worker.ts",
    "workers/caller-worker/svc.worker.yaml",
    "workers/caller-worker/tsconfig.json",
    "workers/math-worker/math_worker.py",
    "workers/math-worker/requirements.txt",
    "workers/math-worker/svc.worker.yaml",
  ]);
});

it("omits generated files, but no file only because the package is in node_modules", async () => {
  const folder = await mkdtemp(join(tmpdir(), "svc-templates-"));
  try {
    const source = {
      templatesDir: join(folder, "node_modules/svc/templates"),
      assetsDir: join(folder, "node_modules/svc/assets"),
    };
    await mkdir(join(source.templatesDir, "t/node_modules/x"), { recursive: true });
    for (const file of ["config.yaml", "node_modules/x/index.js"])
      await writeFile(join(source.templatesDir, "t", file), "");
    expect((await templateFiles(source, "t")).map((file) => file.to)).toEqual(["config.yaml"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("refers to the SDK packages of this version", async () => {
  const { version } = JSON.parse(await readFile(join(repository, "packages/sdk/package.json"), "utf8")) as {
    version: string;
  };
  const read = (file: string): Promise<string> => readFile(join(bundledTemplates.templatesDir, file), "utf8");

  for (const file of ["quickstart/workers/caller-worker/package.json", "typescript/workers/greeter/package.json"]) {
    expect(await read(file)).toContain(`"file:../../sdk/svc-runtime-sdk-${version}.tgz"`);
  }
  for (const file of ["quickstart/workers/math-worker/requirements.txt", "python/workers/greeter/requirements.txt"]) {
    expect(await read(file)).toContain(`\n--find-links ../../sdk\nsvc-runtime==${version}+project\n`);
  }
  expect(await read("typescript/workers/greeter/package.json")).toContain(
    `"file:../../sdk/svc-runtime-engine-${version}.tgz"`,
  );
  expect(await read("blank/README.md")).toContain(`svc-runtime-sdk-${version}.tgz`);
  expect(await read("blank/README.md")).toContain(`svc-runtime==${version}+project`);
});

it("has no watcher of its own and has state and HTTP commented out", async () => {
  const workers = join(bundledTemplates.templatesDir, "quickstart/workers");
  const texts = await Promise.all(
    [
      "math-worker/svc.worker.yaml",
      "math-worker/math_worker.py",
      "caller-worker/svc.worker.yaml",
      "caller-worker/src/worker.ts",
    ].map((file) => readFile(join(workers, file), "utf8")),
  );

  for (const text of texts) expect(text).not.toMatch(/watch/);
  expect(texts[1]).toContain('    #     entry = worker.call({"function_id": "state::get_entry"');
  expect(texts[3]).toContain("// worker.registerTrigger({");
});
