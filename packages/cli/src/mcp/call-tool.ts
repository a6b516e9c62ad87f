import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { CallError } from "@svc-runtime/protocol";
import type { Worker } from "@svc-runtime/sdk";
import type { FunctionTool } from "./tool-catalog.ts";

export interface ToolCall {
  readonly tool: FunctionTool;
  readonly input: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Calls the function. Returns its result as unchanged JSON text and as structured content, or its error as the error of
 * the tool. Rejects only because of bugs in svc.
 */
export async function callTool(engine: Worker, { tool, input, timeoutMs, signal }: ToolCall): Promise<CallToolResult> {
  try {
    // Fail now instead of waiting for a reconnect: the agent would not expect that the function runs later.
    if (engine.connectionState !== "connected") throw notCalled(tool.functionId);
    const payload = JSON.stringify(tool.input.payloadOf(input) ?? null);
    const text = await engine.callJson({ function_id: tool.functionId, payload, timeoutMs, signal });
    const structured = tool.output.contentOf(JSON.parse(text));
    if ("content" in structured)
      return { content: [{ type: "text", text }], structuredContent: { ...structured.content } };
    return resultRefused(tool, text, structured.problem);
  } catch (error) {
    if (!CallError.is(error)) throw error;
    const { code, message, details, retryable } = error;
    const facts = { error: { code, message, details: details ?? null, retryable } };
    return failed(tool, `${code}: ${message}`, facts);
  }
}

function notCalled(functionId: string): CallError {
  const message = `the engine is not connected, and ${functionId} was not called; try again later`;
  return new CallError("disconnected", message, { details: { function_id: functionId, executed: "no" } });
}

/**
 * Returns an error for a result that does not match the tool's output schema, because clients would reject that result.
 */
function resultRefused(tool: FunctionTool, text: string, problem: string): CallToolResult {
  const message = `the function ${tool.functionId} ran, but its result does not match its response_format: ${problem}`;
  return failed(tool, message, { result: JSON.parse(text) as unknown });
}

/**
 * Returns an error of the tool with further facts. They are structured content, unless the tool has an output schema.
 * They are text then, because clients check the structured content of errors against the schema too.
 */
function failed(tool: FunctionTool, message: string, facts: Record<string, unknown>): CallToolResult {
  const text = { type: "text", text: message } as const;
  if (tool.output.schema === undefined) return { isError: true, content: [text], structuredContent: facts };
  return { isError: true, content: [text, { type: "text", text: JSON.stringify(facts) }] };
}
