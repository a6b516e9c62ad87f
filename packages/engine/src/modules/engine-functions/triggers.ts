import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import type { TriggerTypeView } from "../../kernel/directory.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import { CallerView, type Dialect } from "./caller-view.ts";
import { page, pageInput } from "./page.ts";
import { ranked, withoutNulls } from "./search.ts";

const listInput = z.object({
  search: z.string().nullish(),
  prefix: z.string().nullish(),
  worker: z.string().nullish(),
  include_internal: z.boolean().nullish(),
  ...pageInput,
});

/** Provides `engine::triggers::*` and `engine::trigger-types::list`, which list trigger types. */
export function provideTriggerTypeListings({
  provideFunction,
  directory,
}: Pick<ModuleContext<unknown>, "provideFunction" | "directory">): void {
  provideFunction({
    id: "engine::triggers::list",
    summary: "Trigger types that modules and workers provide; callers of version 0.11 get the triggers themselves",
    input: listInput,
    handle: (input, context) => {
      const visible = new CallerView(directory, context);
      const { dialect } = visible;
      if (dialect === "0.11")
        return page("triggers", boundTriggers(visible, input.include_internal ?? false), (row) => row, {
          request: input,
          dialect,
        });
      const views = visible.types().filter((view) => matches(view, input));
      const found = ranked(views, input.search, ({ id, description }) => ({ id, others: [description] }));
      return page("triggers", found, (view) => typeRow(view, dialect), { request: input, dialect });
    },
  });
  provideFunction({
    id: "engine::trigger-types::list",
    summary: "Trigger types that modules and workers provide, with their formats",
    input: z.object({ include_internal: z.boolean().nullish(), ...pageInput }),
    handle: ({ include_internal, ...request }, context) => {
      const visible = new CallerView(directory, context);
      const views = visible.types().filter((view) => matches(view, { include_internal }));
      const { dialect } = visible;
      return page(
        "trigger_types",
        views,
        (view) => (dialect === "svc" ? typeRow(view, "svc") : publishedTypeWithFormats(view)),
        { request, dialect },
      );
    },
  });
  provideFunction({
    id: "engine::triggers::info",
    summary: "One trigger type with its formats",
    input: z.object({ id: z.string() }),
    handle: ({ id }, context) => {
      const visible = new CallerView(directory, context);
      const view = visible.type(id);
      if (view === undefined)
        throw new CallError("NOT_FOUND", `Trigger type '${id}' is not registered in namespace 'default'.`);
      return typeDetail(view, visible.dialect);
    },
  });
}

/** Returns the bindings, because clients of version 0.11 list bindings with `engine::triggers::list`. */
function boundTriggers(visible: CallerView, includeInternal: boolean): unknown[] {
  return visible
    .bindings()
    .filter(({ internal }) => !internal || includeInternal)
    .map(({ id, trigger_type, function_id, config, metadata }) => ({
      id,
      trigger_type,
      function_id,
      config,
      ...withoutNulls({ metadata }),
    }));
}

function matches(view: TriggerTypeView, input: Partial<z.output<typeof listInput>>): boolean {
  if (view.internal && !input.include_internal) return false;
  if (input.prefix && !view.id.startsWith(input.prefix)) return false;
  return !input.worker || view.workers.some(({ id, name }) => name === input.worker || id === input.worker);
}

function typeRow(view: TriggerTypeView, dialect: Dialect): Readonly<Record<string, unknown>> {
  const { internal: _internal, ...ours } = view;
  const { id, worker_name, description } = view;
  return dialect === "svc" ? ours : { id, worker_name, description };
}

function publishedTypeWithFormats({
  id,
  description,
  trigger_request_format,
  call_request_format,
}: TriggerTypeView): unknown {
  return { id, description, ...withoutNulls({ trigger_request_format, call_request_format }) };
}

/** Returns all details of a type: the schema of a trigger's config, and of the payload of its calls. */
export function typeDetail(view: TriggerTypeView, dialect: Dialect): Readonly<Record<string, unknown>> {
  const { id, worker_name, description, trigger_request_format, call_request_format, instance_count } = view;
  const schemas = withoutNulls({ configuration_schema: trigger_request_format, request_schema: call_request_format });
  const published = { id, worker_name, description, ...schemas, instance_count };
  return dialect === "svc" ? { ...typeRow(view, "svc"), ...published } : published;
}
