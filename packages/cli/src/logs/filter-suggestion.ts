import type { Worker } from "@svc-runtime/sdk";
import { didYouMean } from "../did-you-mean.ts";
import { listConnected, listFunctions } from "../engine/listings.ts";

/** Names in a filter of logs or traces. */
export interface NamedFilters {
  readonly functionId?: string | undefined;
  readonly services?: readonly string[] | undefined;
}

/** Returns `; did you mean X?` for the first unknown name of a filter, or an empty string. */
export async function filterSuggestion(engine: Worker, { functionId, services = [] }: NamedFilters): Promise<string> {
  if (functionId !== undefined) {
    const known = (await listFunctions(engine, { include_internal: true })).map(({ function_id }) => function_id);
    if (!known.includes(functionId)) return didYouMean(functionId, known);
  }
  if (services.length === 0) return "";
  const known = await servicesOf(engine);
  const [unknown] = services.filter((service) => !known.some((name) => name.includes(service)));
  return unknown === undefined ? "" : didYouMean(unknown, known);
}

/** Returns the names of the connected workers, and of all services that have logged. */
export async function servicesOf(engine: Worker): Promise<readonly string[]> {
  const connected = await listConnected(engine, { include_internal: true });
  const { facets } = await engine.call<{
    readonly facets: { readonly service?: readonly { readonly value: string }[] };
  }>({
    function_id: "engine::logs::facets",
    payload: { facets: ["service"] },
  });
  return [...new Set([...connected.map(({ name }) => name), ...(facets.service ?? []).map(({ value }) => value)])];
}
