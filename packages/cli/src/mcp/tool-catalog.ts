import { randomUUID } from "node:crypto";
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { compileWildcards } from "@svc-runtime/protocol";
import type { Worker } from "@svc-runtime/sdk";
import { type FunctionRow, listConnected, listFunctions } from "../engine/listings.ts";
import { type ToolInput, toolInput } from "./tool-input.ts";
import { ToolNames } from "./tool-names.ts";
import { type ToolOutput, toolOutput } from "./tool-output.ts";

export interface FunctionTool {
  readonly functionId: string;
  readonly input: ToolInput;
  readonly output: ToolOutput;
  readonly shown: Tool;
}

/**
 * The functions that agents may call, as tools. A pattern matches only functions of workers. Functions of the engine
 * and its modules can change or stop the system, so they must be allowed by their full id.
 */
export class ToolCatalog {
  readonly #engine: Worker;
  readonly #patterns: readonly string[];
  readonly #names = new ToolNames();
  readonly #listeners = new Set<() => void>();
  #tools: ReadonlyMap<string, FunctionTool> = new Map();
  /**
   * Compiled outputs, by the JSON of their format. They are cached because most formats do not change between two
   * refreshes.
   */
  #outputs: ReadonlyMap<string, ToolOutput> = new Map();
  #text = "";
  #current: Promise<void> = Promise.resolve();
  /** A refresh that has not started yet. */
  #next: Promise<void> | undefined;

  constructor(engine: Worker, patterns: readonly string[]) {
    this.#engine = engine;
    this.#patterns = patterns;
  }

  /** Tools by name. */
  get tools(): ReadonlyMap<string, FunctionTool> {
    return this.#tools;
  }

  /** Calls the listener when tools are added, removed or changed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Reads the functions from the engine. The tools stay unchanged while the engine is disconnected. Only one refresh
   * runs at a time, so that an older result never replaces a newer one. Callers during a refresh share the next
   * refresh.
   */
  refresh(): Promise<void> {
    this.#next ??= this.#current
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        this.#current = this.#read();
        return this.#current;
      });
    return this.#next;
  }

  async #read(): Promise<void> {
    if (this.#engine.connectionState !== "connected") return;
    const [all, visible, connected] = await Promise.all([
      listFunctions(this.#engine, { include_internal: true }),
      listFunctions(this.#engine),
      listConnected(this.#engine, { include_internal: true }),
    ]);
    const modules = new Set(connected.filter(({ kind }) => kind === "module").map(({ id }) => id));
    const ofWorkers = visible.filter(({ workers }) => workers.some(({ id }) => !modules.has(id)));
    const allowed = this.#allowed(all, new Set(ofWorkers.map(({ function_id }) => function_id)));
    const names = this.#names.update(allowed.map(({ function_id }) => function_id));
    const outputs = new Map(allowed.map((row) => outputKeyOf(row)).map((key) => [key, this.#outputOf(key)]));
    this.#outputs = outputs;
    const tools = allowed.map((row) =>
      toolOf(row, names.get(row.function_id) ?? "", outputs.get(outputKeyOf(row)) ?? toolOutput(undefined)),
    );
    this.#tools = new Map(
      tools.sort((a, b) => (a.shown.name < b.shown.name ? -1 : 1)).map((tool) => [tool.shown.name, tool]),
    );
    const text = JSON.stringify(tools.map(({ shown }) => shown));
    const isChanged = text !== this.#text;
    this.#text = text;
    if (isChanged) for (const listener of this.#listeners) listener();
  }

  /** Subscribes to changes of the available functions. Errors of a refresh go to `onProblem`. */
  follow(onProblem: (error: unknown) => void): void {
    const id = `svc.mcp::functions_changed::${randomUUID()}`;
    this.#engine.registerFunction(
      id,
      async () => {
        await this.refresh().catch(onProblem);
        return null;
      },
      { description: "Notifies svc mcp of changes to the available functions", metadata: { internal: true } },
    );
    this.#engine.registerTrigger({ type: "engine::functions-available", function_id: id, config: {} });
  }

  #outputOf(key: string): ToolOutput {
    return this.#outputs.get(key) ?? toolOutput(JSON.parse(key));
  }

  #allowed(functions: readonly FunctionRow[], ofWorkers: ReadonlySet<string>): readonly FunctionRow[] {
    const named = new Set(this.#patterns);
    const matchers = this.#patterns.map(compileWildcards);
    return functions.filter(
      ({ function_id: id }) => named.has(id) || (ofWorkers.has(id) && matchers.some((matches) => matches(id))),
    );
  }
}

/**
 * Returns the JSON of a function's response format. Returns the JSON `null` if its workers declare different formats.
 */
function outputKeyOf({ response_format, formats_differ }: FunctionRow): string {
  return JSON.stringify(formats_differ === true ? null : (response_format ?? null));
}

function toolOf(
  { function_id, description, request_format }: FunctionRow,
  name: string,
  output: ToolOutput,
): FunctionTool {
  const input = toolInput(request_format);
  const shown: Tool = {
    name,
    title: function_id,
    description: description === null || description === "" ? `Calls the function ${function_id}` : description,
    inputSchema: input.schema,
    ...(output.schema === undefined ? {} : { outputSchema: output.schema }),
  };
  return { functionId: function_id, input, output, shown };
}
