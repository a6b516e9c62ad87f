import type { Worker } from "@svc/sdk";
import { listConnected, listFunctions } from "./listings.ts";
import { didYouMean } from "./nearest.ts";

/** What a filter of logs or traces names. */
export interface NamedFilters {
  readonly functionId?: string | undefined;
  readonly services?: readonly string[] | undefined;
}

/** For a search that found nothing: `; did you mean X?` for the first name in it that nobody has, or an empty text. */
export async function nearestOfFilters(engine: Worker, { functionId, services = [] }: NamedFilters): Promise<string> {
  if (functionId !== undefined) {
    const known = (await listFunctions(engine, { include_internal: true })).map(({ function_id }) => function_id);
    if (!known.includes(functionId)) return didYouMean(functionId, known);
  }
  if (services.length === 0) return "";
  const known = await servicesOf(engine);
  const [unknown] = services.filter((service) => !known.some((name) => name.includes(service)));
  return unknown === undefined ? "" : didYouMean(unknown, known);
}

/** Who is connected, and who ever logged. */
export async function servicesOf(engine: Worker): Promise<readonly string[]> {
  const connected = await listConnected(engine, { include_internal: true });
  const { facets } = await engine.call<{ readonly facets: { readonly service?: readonly { readonly value: string }[] } }>({
    function_id: "engine::logs::facets",
    payload: { facets: ["service"] },
  });
  return [...new Set([...connected.map(({ name }) => name), ...(facets.service ?? []).map(({ value }) => value)])];
}
