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

/**
 * Calls the function and returns its result as unchanged JSON text and as structured content, or its error as the
 * tool's error. Rejects only for bugs in svc.
 */
export async function callTool(engine: Worker, { tool, input, timeoutMs, signal }: ToolCall): Promise<CallToolResult> {
  try {
    // Fails at once instead of waiting for a reconnect, because the agent no longer expects the call later.
    if (engine.connectionState !== "connected") throw notCalled(tool.functionId);
    const payload = JSON.stringify(tool.input.payloadOf(input) ?? null);
    const text = await engine.callJson({ function_id: tool.functionId, payload, timeoutMs, signal });
    return { content: [{ type: "text", text }], structuredContent: asObject(JSON.parse(text)) };
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
  const message = `the engine is not connected, and ${functionId} was not called; try again later`;
  return new CallError("disconnected", message, { details: { function_id: functionId, executed: "no" } });
}

/** The protocol requires structured content to be an object. */
function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : { result: value };
}
