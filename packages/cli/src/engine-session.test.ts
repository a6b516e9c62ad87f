import { expect, it } from "vitest";
import { EXIT } from "./exit-codes.ts";
import { run } from "./main.ts";
import { startTestEngine, testProject } from "./running-engine.test-support.ts";
import { recordedShell } from "./shell.test-support.ts";

it("a command presents the token of its own project's engine, and says what is missing for another's", { timeout: 30_000 }, async () => {
  const project = testProject("workers: []\nengine: {mode: production}\n");
  try {
    const engine = await startTestEngine(project);
    try {
      expect(await run(["worker", "list"], recordedShell({ cwd: project.dir }))).toBe(EXIT.done);
      const stranger = recordedShell({ cwd: project.dir });
      expect(await run(["worker", "list", "--url", engine.url], stranger)).toBe(EXIT.noEngine);
      expect(stranger.written.notes).toContain("SVC_TOKEN");
    } finally {
      await engine.stop();
    }
  } finally {
    project.remove();
  }
});
