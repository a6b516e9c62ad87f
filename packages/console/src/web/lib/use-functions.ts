import type { FunctionItem } from "../model/functions.ts";
import { type LiveCollection, useLiveCollection } from "./use-live.ts";

/** Returns all functions of connected workers, updated live. */
export function useFunctions(): LiveCollection<FunctionItem> {
  return useLiveCollection<FunctionItem>("svc.functions", ({ function_id }) => function_id);
}
