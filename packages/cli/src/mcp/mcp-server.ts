import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
import type { Worker } from "@svc-runtime/sdk";
import { callTool } from "./call-tool.ts";
import type { ToolCatalog } from "./tool-catalog.ts";

/** Interval of progress notifications during a long call, in milliseconds. */
const PROGRESS_EVERY_MS = 1_000;

export interface McpParts {
  readonly engine: Worker;
  readonly catalog: ToolCatalog;
  readonly version: string;
  /** Timeout of each call, in milliseconds. Undefined: the function's own timeout applies. */
  readonly timeoutMs: number | undefined;
  /** Called for errors that are not part of a response. */
  onProblem(error: unknown): void;
}

/** Creates the server of one client's session. Closing it releases its resources. */
export function mcpServer({ engine, catalog, version, timeoutMs, onProblem }: McpParts): Server {
  const server = new Server(
    { name: "svc", version },
    {
      capabilities: { tools: { listChanged: true } },
      instructions: "The tools are functions of a running svc system; each tool's title is the function's id.",
    },
  );
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    await catalog.refresh().catch(onProblem);
    return { tools: [...catalog.tools.values()].map(({ shown }) => shown) };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, _meta, sendNotification }) => {
    if (!catalog.tools.has(params.name)) await catalog.refresh().catch(onProblem);
    const tool = catalog.tools.get(params.name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool ${JSON.stringify(params.name)}`);
    const progressToken = _meta?.progressToken;
    let seconds = 0;
    const report = (): void => {
      seconds += PROGRESS_EVERY_MS / 1_000;
      const progress = {
        progressToken: progressToken ?? "",
        progress: seconds,
        message: `${tool.functionId} has been running for ${seconds} s`,
      };
      sendNotification({ method: "notifications/progress", params: progress }).catch(onProblem);
    };
    const timer = progressToken === undefined ? undefined : setInterval(report, PROGRESS_EVERY_MS);
    try {
      return await callTool(engine, { tool, input: params.arguments ?? {}, timeoutMs, signal });
    } finally {
      clearInterval(timer);
    }
  });
  const forget = catalog.onChange(() => void server.sendToolListChanged().catch(onProblem));
  server.onclose = forget;
  server.onerror = onProblem;
  return server;
}
