import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "svc-alone-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts and stops an engine, and prints the CommonJS modules that were loaded: the client of NATS is one. */
const PROGRAM = `
import Module from "node:module";
import { startEngine } from ${JSON.stringify(new URL("../index.js", import.meta.url).href)};
const overrides = { bridgePort: 0, httpPort: 0, realtimePort: 0 };
const engine = await startEngine({ configFile: "config.yaml", overrides }).catch((error) => ({ problem: error.message }));
await engine.stop?.();
console.log(JSON.stringify({ problem: engine.problem, loaded: Object.keys(Module._cache) }));
`;

async function loadedBy(config: string): Promise<{ readonly problem?: string; readonly nats: number }> {
  writeFileSync(join(folder, "config.yaml"), config);
  writeFileSync(join(folder, "program.mjs"), PROGRAM);
  const { stdout } = await promisify(execFile)(process.execPath, ["program.mjs"], { cwd: folder });
  const { loaded, ...outcome } = JSON.parse(stdout) as {
    readonly loaded: readonly string[];
    readonly problem?: string;
  };
  return { ...outcome, nats: loaded.filter((file) => file.includes("@nats-io")).length };
}

it("an engine that is alone loads nothing of clusters (G12)", async () => {
  expect(await loadedBy("workers:\n  - name: svc-state\n  - name: svc-queue\n")).toEqual({ nats: 0 });
  // A file that cannot be read ends the start before any server is asked.
  const cluster = "engine: {cluster: {name: x, nats: {servers: [nats://127.0.0.1:1], tls: {ca: none.pem}}}}\n";
  const clustered = await loadedBy(cluster);
  expect(clustered.problem).toContain("none.pem, which cannot be read");
  expect(clustered.nats).toBeGreaterThan(0);
});
