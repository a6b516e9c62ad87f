import { CallError, channelRefSchema, workerIntroductionSchema } from "@svc/protocol";
import { z } from "zod";
import type { FunctionView, TriggerView, WorkerView } from "../../kernel/directory.ts";
import { defineModule, MAX_BUFFER_ITEMS, type Module } from "../../kernel/module.ts";

/** What `engine::info` answers. */
export interface EngineInfo {
  readonly version: string;
  /** Changes with every start. */
  readonly instance_id: string;
  readonly pid: number;
  readonly started_at_ms: number;
  /** Absolute path of the config file in use. */
  readonly config_file: string;
  readonly data_dir: string;
  readonly logs_dir: string;
  readonly addresses: { readonly bridge: string; readonly http: string; readonly realtime: string };
  readonly features: readonly string[];
  readonly modules: readonly { readonly name: string; readonly state: string; readonly reason: string | null }[];
}

const listInput = z.object({
  search: z.string().nullish(),
  prefix: z.string().nullish(),
  worker: z.string().nullish(),
  workers: z.array(z.string()).nullish(),
  include_internal: z.boolean().nullish(),
});
const workersInput = z.object({
  worker_id: z.string().nullish(),
  search: z.string().nullish(),
  runtime: z.string().nullish(),
  status: z.string().nullish(),
  include_internal: z.boolean().nullish(),
});
const triggersInput = z.object({
  search: z.string().nullish(),
  trigger_type: z.string().nullish(),
  function_id: z.string().nullish(),
  worker: z.string().nullish(),
  include_internal: z.boolean().nullish(),
});

const channelInput = z.object({ buffer_size: z.int().min(1).max(MAX_BUFFER_ITEMS).nullish() });

/** Characters of a trigger's config that a listing shows. */
const CONFIG_SUMMARY_CHARACTERS = 80;

/** The functions by which the CLI, the console and workers look into the engine. */
export function engineFunctions(info: () => EngineInfo): Module<unknown> {
  return defineModule({
    name: "engine-functions",
    summary: "Looks into the running engine",
    config: z.unknown(),
    start({ directory, clock, provideFunction, createChannel }) {
      provideFunction({ id: "engine::info", summary: "Versions, addresses and files of the running engine", input: z.looseObject({}), handle: () => info() });
      provideFunction({
        id: "engine::workers::register",
        summary: "How a worker introduces itself after each connect; the bridge itself answers it",
        input: workerIntroductionSchema,
        // A worker's own call never comes here: it must take effect before the connection's next frame is read.
        handle: () => {
          throw new CallError("invalid_input", "engine::workers::register introduces a connected worker; call it over the worker's own connection");
        },
      });
      provideFunction({
        id: "engine::functions::list",
        summary: "Functions that live workers provide",
        input: listInput,
        handle: (input) => ({
          functions: directory
            .functions()
            .filter((view) => functionMatches(view, input))
            .map(functionRow),
        }),
      });
      provideFunction({
        id: "engine::workers::list",
        summary: "Connected workers",
        input: workersInput,
        handle: (input) => ({ workers: directory.workers().filter((view) => workerMatches(view, input)), timestamp: clock.now() }),
      });
      provideFunction({
        id: "engine::registered-triggers::list",
        summary: "Trigger bindings with their status",
        input: triggersInput,
        handle: (input) => ({
          registered_triggers: directory
            .triggers()
            .filter((view) => triggerMatches(view, input))
            .map(triggerRow),
        }),
      });
      provideFunction({
        id: "engine::trigger-types::list",
        summary: "Trigger types that modules and workers provide",
        input: z.object({ include_internal: z.boolean().nullish() }),
        handle: () => ({ trigger_types: directory.triggerTypes() }),
      });
      provideFunction({
        id: "engine::channels::create",
        summary: "Makes a channel: a stream of items from one writer to one reader",
        input: channelInput,
        output: z.object({ writer: channelRefSchema, reader: channelRefSchema }),
        handle: ({ buffer_size }, { caller }) => {
          const channel = createChannel({ bufferItems: buffer_size ?? undefined, ownedBy: caller });
          return { writer: channel.writerRef, reader: channel.readerRef };
        },
      });
      return { stop: () => {} };
    },
  });
}

function functionMatches(view: FunctionView, input: z.output<typeof listInput>): boolean {
  if (view.internal && !input.include_internal) return false;
  if (input.prefix && !view.function_id.startsWith(input.prefix)) return false;
  const names = [...(input.workers ?? []), ...(input.worker ? [input.worker] : [])];
  if (names.length > 0 && !view.workers.some(({ id, name }) => names.includes(name) || names.includes(id))) return false;
  return contains(input.search, view.function_id, view.description);
}

function functionRow({ internal: _internal, ...row }: FunctionView): Omit<FunctionView, "internal"> {
  return row;
}

function workerMatches(view: WorkerView, input: z.output<typeof workersInput>): boolean {
  if (input.worker_id) return view.id === input.worker_id;
  if (view.internal && !input.include_internal) return false;
  if (input.runtime && view.runtime !== input.runtime) return false;
  if (input.status && view.status !== input.status) return false;
  return contains(input.search, view.name, view.description);
}

function triggerMatches(view: TriggerView, input: z.output<typeof triggersInput>): boolean {
  if (view.internal && !input.include_internal) return false;
  if (input.trigger_type && view.trigger_type !== input.trigger_type) return false;
  if (input.function_id && view.function_id !== input.function_id) return false;
  if (input.worker && view.worker_name !== input.worker) return false;
  return contains(input.search, view.function_id, view.trigger_type, JSON.stringify(view.config));
}

function triggerRow(view: TriggerView): Omit<TriggerView, "internal"> & { config_summary: string } {
  const { internal: _internal, ...row } = view;
  const text = JSON.stringify(view.config) ?? "null";
  const config_summary = text.length > CONFIG_SUMMARY_CHARACTERS ? `${text.slice(0, CONFIG_SUMMARY_CHARACTERS)}…` : text;
  return { ...row, config_summary };
}

function contains(search: string | null | undefined, ...texts: readonly (string | null | undefined)[]): boolean {
  if (!search) return true;
  const wanted = search.toLowerCase();
  return texts.some((text) => text?.toLowerCase().includes(wanted));
}
