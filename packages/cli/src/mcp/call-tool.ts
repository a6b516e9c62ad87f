import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { CallError } from "@svc/protocol";
import type { Worker } from "@svc/sdk";
import type { FunctionTool } from "./tool-catalog.ts";

export interface ToolCall {
  readonly tool: FunctionTool;
  readonly input: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
}

/** The function's result as text, to the digit, and as a block; its error as the tool's. Rejects only where svc itself is at fault. */
export async function callTool(engine: Worker, { tool, input, timeoutMs, signal }: ToolCall): Promise<CallToolResult> {
  try {
    // A call that waited for the engine would run at a time at which nobody counts on it any more.
    if (engine.connectionState !== "connected") throw notCalled(tool.functionId);
    const payload = JSON.stringify(tool.input.payloadOf(input) ?? null);
    const text = await engine.callJson({ function_id: tool.functionId, payload, timeout_ms: timeoutMs, signal });
    return { content: [{ type: "text", text }], structuredContent: block(JSON.parse(text)) };
  } catch (error) {
    if (!CallError.is(error)) throw error;
    const { code, message, details, retryable } = error;
    return {
      isError: true,
      content: [{ type: "text", text: `${code}: ${message}` }],
      structuredContent: { error: { code, message, details: details ?? null, retryable } },
    };
  }
}

function notCalled(functionId: string): CallError {
  const message = `the engine is away, and ${functionId} was not called; try again when it is back`;
  return new CallError("disconnected", message, { details: { function_id: functionId, executed: "no" } });
}

/** Structured content is an object, by the protocol. */
function block(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : { result: value };
}
