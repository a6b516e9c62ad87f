import { CallError } from "@svc-runtime/protocol";
import { connect, silentLogger } from "@svc-runtime/sdk";
import { expect, it } from "vitest";
import { nearestTopic } from "../commands/event.ts";
import { recordedShell } from "../shell.test-support.ts";
import { printTraceOfCall } from "./call-trace.ts";

const refusing = {
  id: "cli",
  connectionState: "connected" as const,
  call: () => Promise.reject(new CallError("forbidden", "not for \u001b[31m you")),
};

it("only prints a note if the trace of a call cannot be read", async () => {
  const shell = recordedShell();
  await printTraceOfCall(shell, refusing, "math::add");
  expect(shell.written).toEqual({
    out: "",
    notes: "note: cannot show the trace of this call: not for \\u001b[31m you\n",
  });
});

it("does not wait for an engine that disconnected during the call", async () => {
  const shell = recordedShell();
  const engine = connect("ws://127.0.0.1:1", { handleSignals: false, logger: silentLogger });
  try {
    await printTraceOfCall(shell, engine, "shop::order");

    expect(shell.written.notes).toContain("the engine is not connected");
  } finally {
    await engine.shutdown();
  }
});

it("a published event has no hint if the topics cannot be listed", async () => {
  expect(await nearestTopic(refusing, "orders.created")).toBe("");
});
