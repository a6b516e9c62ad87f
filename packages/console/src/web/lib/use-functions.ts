import type { FunctionItem } from "../model/functions.ts";
import { type LiveCollection, useLiveCollection } from "./use-live.ts";

/** Every function that a live worker provides, as they come and go. */
export function useFunctions(): LiveCollection<FunctionItem> {
  return useLiveCollection<FunctionItem>("svc.functions", ({ function_id }) => function_id);
}
