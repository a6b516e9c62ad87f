import { relative } from "node:path";
import { expect, it } from "vitest";
import { createVitest } from "vitest/node";
import { root } from "./steps.mjs";
import { builtFile, projectOf, selectTests, sourceFile, testFiles } from "./test-selection.mjs";

it("knows every test file, in the project in which the test runner runs it", async () => {
  const vitest = await createVitest("test", { root, watch: false, run: true });
  try {
    const specifications = await vitest.globTestSpecifications();
    const found = specifications.map(
      ({ moduleId, project }) => `${project.name} ${sourceFile(relative(root, moduleId).replaceAll("\\", "/"))}`,
    );
    const known = (await testFiles()).filter((file) => !file.endsWith(".py"));
    expect(found.sort()).toEqual(known.map((file) => `${projectOf(file)} ${file}`).sort());
  } finally {
    await vitest.close();
  }
});

it("maps a source to the compiled file that runs, and back", () => {
  const pairs = {
    "packages/engine/src/store/store.integration.test.ts": "packages/engine/dist/store/store.integration.test.js",
    "e2e/src/mcp.test.ts": "e2e/dist/mcp.test.js",
    "packages/console/src/web/lib/secrets.test.ts": "packages/console/src/web/lib/secrets.test.ts",
    "scripts/steps.test.mjs": "scripts/steps.test.mjs",
  };
  for (const [source, built] of Object.entries(pairs))
    expect([builtFile(source), sourceFile(built)]).toEqual([built, source]);
});

it("selects all projects without a pattern, and only one without processes with `unitOnly`", async () => {
  const all = await selectTests({ patterns: [] });
  expect([...all.projects].sort()).toEqual(["compat", "console", "e2e", "integration", "pytest", "unit", "web"]);
  expect(all).toMatchObject({ files: [], name: undefined });
  expect(await selectTests({ patterns: [], unitOnly: true })).toMatchObject({ projects: ["unit", "web"], files: [] });
});

it("selects files whose path contains a pattern, and their projects", async () => {
  const selection = await selectTests({ patterns: ["./scripts/test-selection", "test_codec"], name: "selects" });
  expect(selection).toEqual({
    projects: ["unit", "pytest"],
    files: ["scripts/test-selection.test.mjs", "python/tests/test_codec.py"],
    name: "selects",
  });
});

it("selects tests by name if no file's path contains the pattern", async () => {
  const selection = await selectTests({ patterns: ["keeps every acknowledged"] });
  expect(selection).toMatchObject({ files: [], name: "keeps every acknowledged" });
  expect(selection.projects).toContain("e2e");
});

it("rejects files that it does not run, with the command that runs them", async () => {
  await expect(selectTests({ patterns: ["power-cut"] })).rejects.toMatchObject({
    fix: expect.stringContaining("npm run faults"),
  });
  await expect(selectTests({ patterns: ["quickstart.test"], unitOnly: true })).rejects.toMatchObject({
    fix: expect.stringContaining("--unit"),
  });
});
