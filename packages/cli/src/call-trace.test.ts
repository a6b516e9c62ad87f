import { connect, silentLogger } from "@svc/sdk";
import { expect, it } from "vitest";
import { printTraceOfCall } from "./call-trace.ts";
import { recordedShell } from "./shell.test-support.ts";

it("does not wait for an engine that went away during the call", async () => {
  const shell = recordedShell();
  const engine = connect("ws://127.0.0.1:1", { handleSignals: false, logger: silentLogger });
  try {
    await printTraceOfCall(shell, engine, "shop::order");

    expect(shell.written.notes).toContain("the engine is away");
  } finally {
    await engine.shutdown();
  }
});
