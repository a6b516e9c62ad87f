import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, type RunnerTask } from "vitest";
import { dropEndedEvidence, registeredEvidence } from "./evidence.ts";

// Setup file: writes the evidence of a failed test (process output, screenshots, terminal screens) to test-results/.

const root = fileURLToPath(new URL("../../..", import.meta.url));
const MAX_NAME_LENGTH = 80;
/** Maximum time for reading one source: a page may hang. */
const READ_TIMEOUT_MS = 10_000;

beforeAll(dropEndedEvidence);

afterEach(async ({ task }) => {
  if (task.result?.state === "fail") await keepEvidence(task);
});

async function keepEvidence(task: Readonly<RunnerTask>): Promise<void> {
  const file = relative(root, task.file.filepath).replaceAll(/[\\/]/g, "-");
  const folder = join(root, "test-results", file, nameOf(task));
  for (const { fileName, read } of registeredEvidence()) {
    const content = await Promise.race([read(), expired()]).catch(
      (error: unknown) => `could not be read: ${String(error)}`,
    );
    if (content.length === 0) continue;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, fileName), content);
  }
}

function expired(): Promise<string> {
  return new Promise((resolve) =>
    setTimeout(resolve, READ_TIMEOUT_MS, `not read within ${READ_TIMEOUT_MS} ms`).unref(),
  );
}

function nameOf(task: Readonly<RunnerTask>): string {
  return (
    task.name
      .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
      .replaceAll(/^-|-$/g, "")
      .slice(0, MAX_NAME_LENGTH) || "test"
  );
}
