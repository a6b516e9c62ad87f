import { CallError, nameProblem } from "@svc-runtime/protocol";
import { z } from "zod";
import type { TriggerView } from "../../kernel/directory.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import { CallerView, type Dialect } from "./caller-view.ts";
import { functionDetail } from "./functions.ts";
import { page, pageInput } from "./page.ts";
import { ranked, withoutNulls } from "./search.ts";
import { typeDetail } from "./triggers.ts";

const listInput = z.object({
  search: z.string().nullish(),
  trigger_type: z.string().nullish(),
  function_id: z.string().nullish(),
  worker: z.string().nullish(),
  include_internal: z.boolean().nullish(),
  ...pageInput,
});
const registerInput = z.object({
  trigger_type: nameSchema("trigger type"),
  function_id: nameSchema("function id"),
  config: z.unknown().optional(),
  metadata: z.unknown().optional(),
});

/** Maximum length of a trigger's config in a list, in characters. */
const CONFIG_SUMMARY_CHARACTERS = 80;

/** Provides `engine::registered-triggers::*`, and the functions that add and remove triggers without an owner. */
export function provideBindingListings({
  provideFunction,
  directory,
  unownedTriggers,
}: Pick<ModuleContext<unknown>, "provideFunction" | "directory" | "unownedTriggers">): void {
  provideFunction({
    id: "engine::registered-triggers::list",
    summary: "Triggers with their status",
    input: listInput,
    handle: (input, context) => {
      const visible = new CallerView(directory, context);
      const matching = visible.bindings().filter((view) => matches(view, input));
      const views = ranked(matching, input.search, ({ function_id, trigger_type, config }) => ({
        id: function_id,
        others: [trigger_type, JSON.stringify(config)],
      }));
      return page("registered_triggers", views, (view) => bindingRow(view, visible.dialect), {
        request: input,
        dialect: visible.dialect,
      });
    },
  });
  provideFunction({
    id: "engine::registered-triggers::info",
    summary: "One trigger with its type and its function",
    input: z.object({ id: z.string() }),
    handle: ({ id }, context) => {
      const visible = new CallerView(directory, context);
      const { dialect } = visible;
      const view = visible.binding(id);
      if (view === undefined) throw new CallError("NOT_FOUND", `Registered trigger '${id}' was not found.`);
      const { trigger_type, function_id, worker_name, made_by, config, metadata, status, reason } = view;
      const type = visible.type(trigger_type);
      const target = visible.function(function_id);
      return {
        id: view.id,
        trigger_type,
        function_id,
        worker_name,
        config,
        ...withoutNulls({ metadata }),
        ...(dialect === "svc" ? { made_by, status, reason } : {}),
        trigger: type === undefined ? null : typeDetail(type, dialect),
        function: target === undefined || target === "forbidden" ? null : functionDetail(target, visible),
      };
    },
  });
  provideFunction({
    id: "engine::register_trigger",
    summary: "Registers a trigger without an owner: it outlives its caller, and ends with the engine",
    input: registerInput,
    output: z.object({
      id: z.string(),
      status: z.string().optional().meta({
        description: "`active`, or `inactive`: then the type or the function has no provider yet. SDK clients only",
      }),
      reason: z.string().nullish().meta({ description: "Why it is inactive" }),
    }),
    handle: async ({ trigger_type, function_id, config, metadata }, context) => {
      const { caller, access } = context;
      const refusal = access?.bindRefusal({ type: trigger_type, functionId: function_id, config });
      if (refusal !== undefined) throw refusal;
      const id = await unownedTriggers.register(
        { triggerType: trigger_type, functionId: function_id, config, metadata },
        caller,
      );
      const view = directory.triggerById(id);
      if (view === undefined || new CallerView(directory, context).dialect !== "svc") return { id };
      const { status, reason } = view;
      return { id, status, reason };
    },
  });
  provideFunction({
    id: "engine::unregister_trigger",
    summary: "Removes a trigger without an owner, or one of the caller's own",
    input: z.object({ id: z.string(), trigger_type: z.string().nullish() }),
    output: z.object({ removed: z.boolean() }),
    handle: ({ id }, { caller }) => ({ removed: unownedTriggers.remove(id, caller) }),
  });
}

function nameSchema(what: string) {
  return z.string().check((context) => {
    const problem = nameProblem(context.value, what);
    if (problem !== undefined) context.issues.push({ code: "custom", input: context.value, message: problem });
  });
}

function matches(view: TriggerView, input: z.output<typeof listInput>): boolean {
  if (view.internal && !input.include_internal) return false;
  if (input.trigger_type && view.trigger_type !== input.trigger_type) return false;
  if (input.function_id && view.function_id !== input.function_id) return false;
  return !input.worker || view.worker_name === input.worker;
}

/** Returns a row of the list. */
export function bindingRow(view: TriggerView, dialect: Dialect): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(view.config) ?? "null";
  const config_summary =
    text.length > CONFIG_SUMMARY_CHARACTERS ? `${text.slice(0, CONFIG_SUMMARY_CHARACTERS)}…` : text;
  const { internal: _internal, ...ours } = view;
  if (dialect === "svc") return { ...ours, config_summary };
  const { id, trigger_type, function_id, worker_name, config } = view;
  return { id, trigger_type, function_id, worker_name, config, config_summary };
}
