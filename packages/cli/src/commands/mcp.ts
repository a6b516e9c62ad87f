import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Worker } from "@svc-runtime/sdk";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { findPortHolder } from "../engine/port-holder.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import type { McpParts } from "../mcp/mcp-server.ts";
import type { Shell } from "../shell.ts";
import { listenForStop } from "../stop-requests.ts";
import { say, sayBehind, sayWarning } from "../terminal/notes.ts";
import { allOptions, type EngineOptions, jsonOption, parsePort, wholeNumber, withEngineOptions } from "./options.ts";

interface McpOptions extends EngineOptions {
  readonly allow?: readonly string[];
  readonly allowFile?: string;
  readonly http?: number;
  readonly timeoutMs?: number;
  readonly json?: true;
}

const MAX_TIMEOUT_MS = 86_400_000;

/** `svc mcp`: serves the registered functions as tools for agents. */
export function mcpCommand(shell: Shell): Command {
  const command = new Command("mcp")
    .summary("serve functions to agents as tools of the Model Context Protocol")
    .description(
      "Serve functions to agents as tools of the Model Context Protocol: over standard input and output, or over HTTP on this machine. Only allowed functions are served. A pattern matches functions of workers; a function of the engine or of a module must be allowed by its full id.",
    )
    .option("--allow <pattern...>", "functions that agents may call, e.g. 'shop::*'")
    .option("--allow-file <file>", "file with such patterns, one per line; # starts a comment")
    .option("--http <port>", "serve over HTTP on this port of this machine; 0 picks a free one", parsePort)
    .option(
      "--timeout-ms <n>",
      "timeout of each call in milliseconds (default: the function's own, otherwise 30000)",
      wholeNumber(1, MAX_TIMEOUT_MS),
    )
    .addOption(jsonOption("print address and token as JSON; needs --http"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc mcp --allow 'shop::*'\n  svc mcp --allow-file mcp.allow --http 3115\n  claude mcp add shop -- svc mcp --allow 'shop::*' --url ws://localhost:49134\n\nVariables:\n  SVC_MCP_TOKEN  token of --http (default: a new one at each start)\n",
    );
  return withEngineOptions(command).action((own: McpOptions, self: Command) =>
    serve(shell, self, allOptions(own, self)),
  );
}

async function serve(shell: Shell, command: Command, options: McpOptions): Promise<void> {
  if (options.json && options.http === undefined)
    throw usageFailure("--json needs --http: standard output carries the protocol");
  const patterns = [
    ...(options.allow ?? []),
    ...(options.allowFile === undefined ? [] : await patternsOf(shell, options.allowFile)),
  ];
  if (patterns.length === 0) {
    throw usageFailure(
      "No functions are allowed; give the functions that agents may call with --allow",
      "For example: svc mcp --allow 'shop::*'",
      "List functions: svc functions",
    );
  }
  await askEngine(shell, { command, options, access: "changes" }, (engine) =>
    run(shell, engine, { command, options, patterns }),
  );
}

interface Plan {
  readonly command: Command;
  readonly options: McpOptions;
  readonly patterns: readonly string[];
}

async function run(shell: Shell, engine: Worker, { command, options, patterns }: Plan): Promise<void> {
  // Imported lazily: other commands do not need it.
  const { ToolCatalog } = await import("../mcp/tool-catalog.ts");
  const onProblem = (error: unknown): void => sayWarning(shell, error instanceof Error ? error.message : String(error));
  const catalog = new ToolCatalog(engine, patterns);
  await catalog.refresh();
  catalog.follow(onProblem);
  const parts: McpParts = {
    engine,
    catalog,
    version: command.parent?.version() ?? "",
    timeoutMs: options.timeoutMs,
    onProblem,
  };
  const tools = [...catalog.tools.values()].map(({ functionId }) => functionId);
  if (tools.length === 0) say(shell, "No allowed function is registered yet.");
  else sayBehind(shell, "Tools:", tools.join(", "));
  const stopReporting = reportConnection(shell, parts);
  try {
    await (options.http === undefined
      ? overStdio(shell, parts)
      : overHttp(shell, parts, { port: options.http, asJson: options.json === true }));
  } finally {
    stopReporting();
  }
}

/** Reports when the engine disconnects and reconnects. Returns a function that stops the reports. */
function reportConnection(shell: Shell, { engine, catalog, onProblem }: McpParts): () => void {
  let isDisconnected = false;
  return engine.onConnectionState((state) => {
    if (state === "connected" && isDisconnected) {
      isDisconnected = false;
      shell.note("Reconnected to the engine.\n");
      catalog.refresh().catch(onProblem);
    } else if (state !== "connected" && state !== "closed" && !isDisconnected) {
      isDisconnected = true;
      sayWarning(shell, "disconnected from the engine; calls fail until it reconnects");
    }
  });
}

/** Serves until standard input ends. */
async function overStdio(shell: Shell, parts: McpParts): Promise<void> {
  const [{ mcpServer }, { StdioServerTransport }] = await Promise.all([
    import("../mcp/mcp-server.ts"),
    import("@modelcontextprotocol/sdk/server/stdio.js"),
  ]);
  const server = mcpServer(parts);
  await server.connect(new StdioServerTransport());
  // Listen for the end of standard input only after the transport listens. Earlier input would be lost.
  const stop = listenForStop(shell, { stdin: "stops", nowMs: () => performance.now() });
  try {
    await stop.first;
  } finally {
    stop.forget();
    await server.close();
  }
}

async function overHttp(
  shell: Shell,
  parts: McpParts,
  { port, asJson }: { readonly port: number; readonly asJson: boolean },
): Promise<void> {
  const { serveHttp } = await import("../mcp/serve-http.ts");
  const token = shell.env.SVC_MCP_TOKEN?.trim() || randomBytes(24).toString("base64url");
  const stop = listenForStop(shell, { stdin: "ignored", nowMs: () => performance.now() });
  try {
    const served = await serveHttp(parts, { port, token }).catch((error: unknown) => explained(error, port));
    if (asJson) shell.out(`${JSON.stringify({ url: served.url, token })}\n`);
    else
      say(
        shell,
        `Served at ${served.url} to clients that send the header\n  Authorization: Bearer ${token}\nPress Ctrl-C to stop.`,
      );
    await stop.first;
    await served.close();
  } finally {
    stop.forget();
  }
}

async function explained(error: unknown, port: number): Promise<never> {
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  if (cause?.code === undefined) throw error;
  const holder = cause.code === "EADDRINUSE" ? await findPortHolder(port) : undefined;
  const advice =
    holder === undefined
      ? ["Choose another port, or 0 for a free one: --http 0"]
      : [`It is in use by process ${holder.pid}: ${holder.command}`];
  throw new CommandFailure(`Port ${port} is not available (${cause.code}).`, { advice, cause: error });
}

async function patternsOf(shell: Shell, file: string): Promise<readonly string[]> {
  const text = await readFile(resolve(shell.cwd, file), "utf8").catch((error: Error) => {
    throw new CommandFailure(`${file} cannot be read: ${error.message}`, { cause: error });
  });
  return text
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*$/, "").trim())
    .filter((line) => line !== "");
}
