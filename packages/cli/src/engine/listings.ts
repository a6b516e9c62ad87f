import type { FunctionListing, NodeListing, TriggerListing, WorkerListing } from "@svc-runtime/protocol/listings";
import type { EngineCalls } from "../workers/worker-functions.ts";

// Results of the engine's list functions. Members that no command uses are omitted.

export type FunctionRow = Omit<FunctionListing, "metadata" | "internal" | "worker_name">;

export interface FunctionDetail extends FunctionRow {
  readonly registered_triggers: readonly {
    readonly id: string;
    readonly trigger_type: string;
    readonly config: unknown;
  }[];
}

export type TriggerRow = Omit<TriggerListing, "metadata" | "made_by" | "internal">;

export type WorkerRow = Omit<
  WorkerListing,
  | "description"
  | "os"
  | "isolation"
  | "features"
  | "internal"
  | "status"
  | "functions"
  | "trigger_types"
  | "trigger_count"
  | "principal"
>;

/** Filters and `include_internal` of the engine's list functions. */
type Query = Readonly<Record<string, unknown>>;

export function listFunctions(engine: EngineCalls, query: Query = {}): Promise<readonly FunctionRow[]> {
  return allPages<FunctionRow>(engine, "engine::functions::list", "functions", query);
}

export function listTriggers(engine: EngineCalls, query: Query = {}): Promise<readonly TriggerRow[]> {
  return allPages<TriggerRow>(engine, "engine::registered-triggers::list", "registered_triggers", query);
}

export async function triggerTypeIds(engine: EngineCalls): Promise<readonly string[]> {
  const query = { include_internal: true };
  const types = await allPages<{ readonly id: string }>(engine, "engine::trigger-types::list", "trigger_types", query);
  return types.map(({ id }) => id);
}

export function listConnected(engine: EngineCalls, query: Query = {}): Promise<readonly WorkerRow[]> {
  return allPages<WorkerRow>(engine, "engine::workers::list", "workers", query);
}

export const LIST_NODES = "engine::nodes::list";

export async function listNodes(engine: EngineCalls): Promise<readonly NodeListing[]> {
  const { nodes } = await engine.call<{ readonly nodes: readonly NodeListing[] }>({
    function_id: LIST_NODES,
    payload: {},
  });
  return nodes;
}

async function allPages<Row>(
  engine: EngineCalls,
  functionId: string,
  name: string,
  query: Query,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const page: Readonly<Record<string, unknown>> = await engine.call<Readonly<Record<string, unknown>>>({
      function_id: functionId,
      payload: offset === 0 ? query : { ...query, offset },
    });
    rows.push(...(page[name] as readonly Row[]));
    offset = page.next_offset as number | undefined;
  }
  return rows;
}
