import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeEngine } from "./fake-engine.test.support.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const folder = mkdtempSync(join(tmpdir(), "svc-sdk-signals-"));
const SDK = join(folder, "sdk.mjs");
const PROGRAM = `
  import { connect } from ${JSON.stringify(pathToFileURL(SDK).href)};
  const worker = connect({ name: "child" });
  worker.registerFunction("slow", (_input, { call }) => call({ function_id: "gate" }));
`;

// Node 20 does not run TypeScript, so the child processes get the SDK's sources as one JavaScript file.
beforeAll(async () => {
  await build({
    input: join(import.meta.dirname, "node.js"),
    platform: "node",
    resolve: { conditionNames: ["@svc-runtime/source", "import", "node", "default"] },
    output: { file: SDK, format: "esm" },
    logLevel: "warn",
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let engine: FakeEngine;
beforeEach(async () => {
  engine = await FakeEngine.start();
});
afterEach(() => engine.stop());

describe("a worker process", () => {
  it("that awaits connected() at its top level exits 0 on SIGTERM, without output", async () => {
    const refusing = createServer((_request, response) => response.writeHead(503).end());
    const asked = once(
      refusing
        .on("upgrade", (_request, socket) => socket.end("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"))
        .listen(0, "127.0.0.1"),
      "upgrade",
    );
    await once(refusing, "listening");
    const program = `${PROGRAM}\nawait worker.connected();\nconsole.log("never");`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: folder,
      env: { ...process.env, SVC_URL: `ws://127.0.0.1:${(refusing.address() as AddressInfo).port}` },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
    const closed = once(child, "close");
    const warned = once(child.stderr, "data");
    await Promise.race([Promise.all([asked, warned]), closed]);
    child.kill("SIGTERM");
    expect([await closed, output.split("\n").filter((line) => line !== "" && !line.startsWith("{"))]).toEqual([
      [0, null],
      [],
    ]);
    expect(JSON.parse(output.split("\n")[0] as string)).toMatchObject({
      level: "warn",
      reason: "the connection was refused with HTTP 503",
      status: 503,
    });
    refusing.close();
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "on %s finishes the call in flight, then exits 0, and logs JSON lines on stderr only",
    async (signal) => {
      const child = spawn(process.execPath, ["--input-type=module", "--eval", PROGRAM], {
        cwd: folder,
        env: { ...process.env, SVC_URL: engine.address, SVC_LOG_LEVEL: "info" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let stderr = "";
      let stdout = "";
      child.stderr.on("data", (chunk) => {
        stderr += String(chunk);
      });
      child.stdout.on("data", (chunk) => {
        stdout += String(chunk);
      });
      const closed = once(child, "close");
      await Promise.race([
        engine.frame({ type: "registerfunction", id: "slow" }),
        closed.then(() => Promise.reject(new Error(`the child ended: ${stderr}`))),
      ]);
      engine.send({ type: "invokefunction", invocation_id: ID, function_id: "slow", data: null });
      const { invocation_id } = await engine.frame({ type: "invokefunction", function_id: "gate" });
      child.kill(signal);
      await engine.frame({ type: "unregisterfunction", id: "slow" });
      engine.send({ type: "invocationresult", invocation_id, function_id: "gate", result: "done" });
      expect(await engine.frame({ type: "invocationresult" })).toMatchObject({ result: "done" });
      expect(await closed).toEqual([0, null]);
      expect(JSON.parse(stderr.split("\n")[0] as string)).toMatchObject({
        level: "info",
        message: "connected to the engine",
        worker: "child",
      });
      expect(stdout).toBe("");
    },
  );
});
