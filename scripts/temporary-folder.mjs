// Gives each test run a temporary folder of its own and removes it at the end: workers of the test runner are ended without a word, so
// they cannot tidy up after themselves.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export default function setup() {
  const folder = mkdtempSync(join(tmpdir(), "svc-tests-"));
  process.env.TMPDIR = folder;
  // A browser that ends with its worker may still write for a moment.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
