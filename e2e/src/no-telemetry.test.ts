// svc sends nothing unless it is configured to (gap 69): neither a started engine with modules nor its commands connect
// to another machine.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePorts } from "@svc-runtime/protocol/testing";
import { afterAll, expect, it } from "vitest";
import { startEngine, svc } from "./support/cli.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-quiet-"));
const file = join(dir, "connections");
const hook = fileURLToPath(new URL("../src/support/record-connections.mjs", import.meta.url));
const env = { NODE_OPTIONS: `--import=${hook}`, CONNECTIONS_FILE: file };
const LOCAL = /^(?:watching \d+|(?:tcp|dns) (?:localhost|127\.0\.0\.1|::1))$/;
const outside = (): readonly string[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .filter((line) => !LOCAL.test(line));

afterAll(() => rmSync(dir, { recursive: true, force: true }));

it("the watch detects outgoing connections of fetch, sockets and datagrams", async () => {
  const source = `
    const timeout = AbortSignal.timeout(200);
    await fetch("http://192.0.2.1/", { signal: timeout }).catch(() => {});
    await fetch("http://telemetry.invalid/").catch(() => {});
    (await import("node:dgram")).createSocket("udp4").send("x", 9, "192.0.2.2", () => process.exit());`;
  await promisify(execFile)(process.execPath, ["--input-type=module", "-e", source], {
    env: { ...process.env, ...env },
    timeout: 60_000,
  });

  expect(outside()).toEqual(expect.arrayContaining(["tcp 192.0.2.1", "dns telemetry.invalid", "udp 192.0.2.2"]));
});

it("an engine with its modules, and commands, connect only to each other (gap 69)", async () => {
  writeFileSync(file, "");
  const modules = ["svc-http", "svc-state", "svc-stream", "svc-queue", "svc-event", "svc-cron", "svc-observability"];
  writeFileSync(join(dir, "config.yaml"), `workers:\n${modules.map((name) => `  - name: ${name}\n`).join("")}`);
  const ports = await freePorts();
  const engine = await startEngine({ cwd: dir, ports, env });
  try {
    const url = `ws://localhost:${ports.bridge}`;
    const set = ["trigger", "--function-id=state::set", '--payload={"scope":"s","key":"k","value":1}'];
    for (const args of [
      ["create", "-t", "typescript", "-d", "project"],
      set,
      ["functions", "--all"],
      ["doctor"],
      ["config", "check"],
    ]) {
      expect(await svc(args, { cwd: dir, url, env }), args.join(" ")).toMatchObject({ code: 0 });
    }
  } finally {
    engine.child.kill("SIGTERM");
    await engine.exited;
  }

  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines.filter((line) => line.startsWith("watching")).length).toBeGreaterThanOrEqual(6);
  expect(lines).toContain("tcp localhost");
  expect(outside()).toEqual([]);
});
