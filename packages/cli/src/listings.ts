import type { Worker } from "@svc/sdk";

// What the engine's listings answer, as far as commands show it.

export interface FunctionRow {
  readonly function_id: string;
  readonly description: string | null;
  readonly status: string;
  readonly validated: boolean;
  readonly format_problem: string | null;
  readonly request_format: unknown;
  readonly response_format: unknown;
  readonly formats_differ?: true;
  readonly workers: readonly { readonly id: string; readonly name: string }[];
  readonly triggers: readonly { readonly id: string; readonly type: string }[];
}

export interface FunctionDetail extends FunctionRow {
  readonly registered_triggers: readonly { readonly id: string; readonly trigger_type: string; readonly config: unknown }[];
}

export interface TriggerRow {
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: string;
  readonly worker_name: string;
  readonly config: unknown;
  readonly status: string;
  readonly reason: string | null;
}

export interface WorkerRow {
  readonly id: string;
  readonly name: string;
  readonly runtime: string;
  readonly version: string | null;
  readonly ip_address: string | null;
  readonly pid: number | null;
  readonly kind: "worker" | "cli" | "console" | "module";
  readonly connected_at_ms: number;
  readonly function_count: number;
  readonly active_invocations: number;
  /** The config entry that the engine started it for; null for one that came by itself. */
  readonly configured_worker: string | null;
}

/** `include_internal` and filters as the engine's functions take them. */
type Query = Readonly<Record<string, unknown>>;

export async function listFunctions(engine: Worker, query: Query = {}): Promise<readonly FunctionRow[]> {
  const { functions } = await engine.call<{ readonly functions: readonly FunctionRow[] }>({ function_id: "engine::functions::list", payload: query });
  return functions;
}

export async function listTriggers(engine: Worker, query: Query = {}): Promise<readonly TriggerRow[]> {
  const { registered_triggers } = await engine.call<{ readonly registered_triggers: readonly TriggerRow[] }>({
    function_id: "engine::registered-triggers::list",
    payload: query,
  });
  return registered_triggers;
}

export async function triggerTypeIds(engine: Worker): Promise<readonly string[]> {
  const { trigger_types } = await engine.call<{ readonly trigger_types: readonly { readonly id: string }[] }>({
    function_id: "engine::trigger-types::list",
    payload: { include_internal: true },
  });
  return trigger_types.map(({ id }) => id);
}

export async function listConnected(engine: Worker, query: Query = {}): Promise<readonly WorkerRow[]> {
  const { workers } = await engine.call<{ readonly workers: readonly WorkerRow[] }>({ function_id: "engine::workers::list", payload: query });
  return workers;
}
