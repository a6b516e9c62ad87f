import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import type { FunctionView } from "../../kernel/directory.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import { CallerView, type Dialect } from "./caller-view.ts";
import { page, pageInput } from "./page.ts";
import { ranked, withoutNulls } from "./search.ts";

/** Maximum number of functions in one call of `engine::functions::info`. */
const MAX_BATCH = 32;

const listInput = z.object({
  search: z.string().nullish(),
  prefix: z.string().nullish(),
  worker: z.string().nullish(),
  workers: z.array(z.string()).nullish(),
  include_internal: z.boolean().nullish(),
  ...pageInput,
});
const infoInput = z.object({ function_id: z.string().nullish(), function_ids: z.array(z.string()).nullish() });

/** Provides `engine::functions::*`. */
export function provideFunctionListings({
  provideFunction,
  directory,
}: Pick<ModuleContext<unknown>, "provideFunction" | "directory">): void {
  provideFunction({
    id: "engine::functions::list",
    summary: "Functions that live workers provide",
    input: listInput,
    handle: (input, context) => {
      const visible = new CallerView(directory, context);
      const matching = visible.functions().filter((view) => matches(view, input));
      const views = ranked(matching, input.search, ({ function_id, description }) => ({
        id: function_id,
        others: [description],
      }));
      return page("functions", views, (view) => functionRow(view, visible.dialect), {
        request: input,
        dialect: visible.dialect,
      });
    },
  });
  provideFunction({
    id: "engine::functions::info",
    summary: "One function, or up to 32 at once, with formats and triggers",
    input: infoInput,
    handle: ({ function_id, function_ids }, context) => {
      const visible = new CallerView(directory, context);
      if ((function_id ?? undefined) !== undefined && (function_ids ?? undefined) !== undefined)
        refuse("give function_id or function_ids, not both");
      if (typeof function_id === "string") return detailOrThrow(function_id, visible);
      const ids = function_ids ?? refuse("give function_id or function_ids");
      if (ids.length === 0) refuse("function_ids is empty; give 1 to 32 ids");
      if (ids.length > MAX_BATCH) refuse(`function_ids has ${ids.length} ids; ${MAX_BATCH} is the limit`);
      return {
        functions: ids.map((id) => {
          const view = visible.function(id);
          if (view === undefined) return { function_id: id, error: "not_found" };
          return view === "forbidden" ? { function_id: id, error: "forbidden" } : functionDetail(view, visible);
        }),
      };
    },
  });
}

function refuse(problem: string): never {
  throw new CallError("INVALID_ARGUMENTS", `engine::functions::info: ${problem}`);
}

function detailOrThrow(id: string, visible: CallerView): unknown {
  const view = visible.function(id);
  if (view === undefined) throw new CallError("NOT_FOUND", `Function '${id}' is not registered.`);
  if (view === "forbidden") throw new CallError("FORBIDDEN", `Function '${id}' is not visible to this session.`);
  return functionDetail(view, visible);
}

function matches(view: FunctionView, input: z.output<typeof listInput>): boolean {
  if (view.internal && !input.include_internal) return false;
  if (input.prefix && !view.function_id.startsWith(input.prefix)) return false;
  const names = [...(input.workers ?? []), ...(input.worker ? [input.worker] : [])];
  return names.length === 0 || view.workers.some(({ id, name }) => names.includes(name) || names.includes(id));
}

/** Returns the row of a function in the list. */
export function functionRow(view: FunctionView, dialect: Dialect): Readonly<Record<string, unknown>> {
  const { internal: _internal, ...ours } = view;
  if (dialect === "svc") return ours;
  const { function_id, worker_name, description, request_format, response_format, metadata } = view;
  if (dialect === "0.11") return { function_id, description, request_format, response_format, metadata };
  return { function_id, worker_name, ...withoutNulls({ description, metadata }) };
}

/**
 * Returns all details of a function. Clients with the SDK of svc also get the formats under the names that published
 * clients use.
 */
export function functionDetail(view: FunctionView, visible: CallerView): Readonly<Record<string, unknown>> {
  const { function_id, worker_name, description, metadata } = view;
  const published = {
    function_id,
    worker_name,
    ...withoutNulls({
      description,
      request_schema: view.request_format,
      response_schema: view.response_format,
      metadata,
    }),
    registered_triggers: view.triggers.flatMap(({ id }) => {
      const binding = visible.binding(id);
      return binding === undefined ? [] : [{ id, trigger_type: binding.trigger_type, config: binding.config }];
    }),
  };
  return visible.dialect === "svc" ? { ...functionRow(view, "svc"), ...published } : published;
}
