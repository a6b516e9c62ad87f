import { connect, silentLogger } from "@svc-runtime/sdk";
import { expect, it } from "vitest";
import { callTool } from "./call-tool.ts";
import { toolInput } from "./tool-input.ts";
import { toolOutput } from "./tool-output.ts";

it("fails at once without a call while the engine is not connected", async () => {
  const engine = connect("ws://127.0.0.1:1", { handleSignals: false, logger: silentLogger });
  const input = toolInput(undefined);
  const output = toolOutput(undefined);
  const tool = { functionId: "shop::order", input, output, shown: { name: "shop__order", inputSchema: input.schema } };
  try {
    const answer = await callTool(engine, {
      tool,
      input: {},
      timeoutMs: undefined,
      signal: new AbortController().signal,
    });

    expect(answer).toMatchObject({
      isError: true,
      content: [
        { type: "text", text: expect.stringContaining("the engine is not connected, and shop::order was not called") },
      ],
      structuredContent: { error: { code: "disconnected", details: { executed: "no" } } },
    });
  } finally {
    await engine.shutdown();
  }
});
