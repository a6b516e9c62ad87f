// Creates a temporary folder per test run and removes it at the end: workers of the test runner are killed, so they
// cannot clean up.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NAME = "SVC_TEST_FOLDER";

export default function setup() {
  // Called once per project. One folder is enough, and nested ones make paths too long for Unix sockets.
  if (process.env[NAME] !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "svc-tests-"));
  process.env[NAME] = folder;
  process.env.TMPDIR = folder;
  return () => {
    delete process.env[NAME];
    // A browser that ends with its worker may still write briefly.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
}
