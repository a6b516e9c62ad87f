import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { builtFile, projectOf, testFiles } from "./scripts/test-selection.mjs";

/** Timeout of `expect.poll`: the machine may be busy with other work. */
const POLL = { timeout: 60_000 };
/**
 * Ends a test that hangs. No test asserts a duration by it: on a machine with other load, a test takes up to twenty times
 * as long as alone.
 */
const ENDS_HANGING = { testTimeout: 240_000, hookTimeout: 240_000 };
/**
 * Two more than there are cores, since tests also wait: with only one more, the last minutes of a run left a fifth of the
 * processor time idle.
 */
const WORKERS = availableParallelism() + 2;
/** Projects with long files first: short files at the end leave no core idle. */
const ORDER = ["e2e", "compat", "console", "integration", "unit", "web"];

/** These files take about three times as long as others of their size, because they visit each page of the console. */
const EACH_PAGE = /\/console\/(?:data-states|keyboard|labels|write-refusals)\.test\.js$/;

/** Starts long files first. The size of a file stands in for its duration, which a fresh clone does not know. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project }: TestSpecification): number => ORDER.indexOf(project.name);
    const size = ({ moduleId }: TestSpecification): number =>
      statSync(moduleId).size * (EACH_PAGE.test(moduleId) ? 3 : 1);
    return files.sort((a, b) => rank(a) - rank(b) || size(b) - size(a));
  }
}

const files = await testFiles();

/**
 * Tests of one project. Node itself loads what the compiler made of them: transforming the sources again in each project took a third of the processor time
 * of all unit tests. Modules are loaded once for all files that run in one worker, since that takes longer than most tests: a test that changes shared state
 * must undo it.
 */
function project(name: string, test: TestProjectInlineConfiguration["test"]): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      name,
      include: files.filter((file) => projectOf(file) === name).map(builtFile),
      exclude: [],
      environment: "node",
      isolate: false,
      expect: { poll: POLL },
      experimental: { viteModuleRunner: false, nodeLoader: false },
      ...test,
    },
  };
}

const EVIDENCE = "./e2e/dist/support/keep-evidence.js";

export default defineConfig({
  test: {
    globalSetup: "./scripts/temporary-folder.mjs",
    sequence: { sequencer: LongestFirst },
    maxWorkers: WORKERS,
    // Without --enable-source-maps: Vitest has its workers map stacks to the sources itself. With the flag the threads of stores would read source maps too,
    // which is a quarter of the processor time of their start.
    projects: [
      // Threads start faster than processes; a test that needs a process of its own is an integration test.
      project("unit", { pool: "threads", ...ENDS_HANGING }),
      // The compiler checks the page's sources and writes nothing.
      {
        ...project("web", { pool: "threads", ...ENDS_HANGING, experimental: {} }),
        resolve: { conditions: ["@svc-runtime/source"] },
        ssr: { resolve: { conditions: ["@svc-runtime/source"] } },
      },
      project("integration", ENDS_HANGING),
      project("compat", { setupFiles: EVIDENCE, ...ENDS_HANGING }),
      project("e2e", { setupFiles: EVIDENCE, ...ENDS_HANGING }),
      // Files that run in one process share its browser: `e2e/src/console/support/pages.ts`.
      project("console", { setupFiles: EVIDENCE, ...ENDS_HANGING }),
      project("faults", {
        testTimeout: 2 * 60 * 60_000,
        maxWorkers: 1,
        fileParallelism: false,
        sequence: { groupOrder: 1 },
      }),
    ],
  },
});
