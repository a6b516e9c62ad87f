import type { Worker } from "@svc-runtime/sdk";
import { listCronTriggers } from "../cron-triggers.ts";
import { listConnected, listFunctions, triggerTypeIds } from "../engine/listings.ts";
import { servicesOf } from "../logs/filter-suggestion.ts";
import { listQueues } from "../queues/queues.ts";
import { keysOf, scopeNames } from "../state-items.ts";
import type { Named } from "./places.ts";

/** Lists the names of a kind. `before` is the preceding argument: for names of keys, the scope. */
type Lister = (engine: Worker, before: string) => Promise<readonly string[]>;

const LISTERS: Readonly<Record<Named, Lister>> = {
  "configured-worker": configuredWorkers,
  function: async (engine) =>
    (await listFunctions(engine, { include_internal: true })).map(({ function_id }) => function_id),
  key: keysOf,
  queue: async (engine) => (await listQueues(engine)).map(({ queue }) => queue),
  schedule: async (engine) => (await listCronTriggers(engine)).map(({ function_id }) => function_id),
  scope: scopeNames,
  service: servicesOf,
  topic: topics,
  "trigger-type": triggerTypeIds,
  worker: async (engine) => (await listConnected(engine)).map(({ name }) => name),
};

/**
 * Returns the names of a kind, without duplicates. Names with control characters are left out, because each name must
 * be one line of the output.
 */
export async function namesOf(engine: Worker, kind: Named, before: string): Promise<readonly string[]> {
  const names = await LISTERS[kind](engine, before);
  return [...new Set(names)].filter((name) => name !== "" && !/[\p{Cc}\p{Cf}]/u.test(name)).sort();
}

async function configuredWorkers(engine: Worker): Promise<readonly string[]> {
  const { workers } = await engine.call<{ readonly workers: readonly { readonly name: string }[] }>({
    function_id: "worker::list",
    payload: {},
  });
  return workers.map(({ name }) => name);
}

async function topics(engine: Worker): Promise<readonly string[]> {
  const answer = await engine.call<{ readonly topics: readonly { readonly topic: string }[] }>({
    function_id: "event::list",
    payload: {},
  });
  return answer.topics.map(({ topic }) => topic);
}
