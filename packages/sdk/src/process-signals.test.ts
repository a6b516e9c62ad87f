import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeEngine } from "./fake-engine.test.support.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const LOADER = new URL("typescript-loader.test.support.mjs", import.meta.url).href;
const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const PROGRAM = `
  import { connect } from "@svc/sdk";
  const worker = connect({ name: "child" });
  worker.registerFunction("slow", (_input, { call }) => call({ function_id: "gate" }));
`;

let engine: FakeEngine;
beforeEach(async () => {
  engine = await FakeEngine.start();
});
afterEach(() => engine.stop());

describe("a worker process", () => {
  it.each(["SIGTERM", "SIGINT"] as const)(
    "on %s finishes the call in hand, then exits 0, and logs JSON lines on stderr only",
    async (signal) => {
      const child = spawn(process.execPath, ["--conditions=@svc/source", "--import", LOADER, "--input-type=module", "--eval", PROGRAM], {
        cwd: PACKAGE,
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
      await Promise.race([engine.frame({ type: "registerfunction", id: "slow" }), closed.then(() => Promise.reject(new Error(`the child ended: ${stderr}`)))]);
      engine.send({ type: "invokefunction", invocation_id: ID, function_id: "slow", data: null });
      const { invocation_id } = await engine.frame({ type: "invokefunction", function_id: "gate" });
      child.kill(signal);
      await engine.frame({ type: "unregisterfunction", id: "slow" });
      engine.send({ type: "invocationresult", invocation_id, function_id: "gate", result: "done" });
      expect(await engine.frame({ type: "invocationresult" })).toMatchObject({ result: "done" });
      expect(await closed).toEqual([0, null]);
      expect(JSON.parse(stderr.split("\n")[0] as string)).toMatchObject({ level: "info", message: "connected to the engine", worker: "child" });
      expect(stdout).toBe("");
    },
    30_000,
  );
});
