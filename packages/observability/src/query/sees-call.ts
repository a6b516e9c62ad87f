import { type CallerAccess, isInfrastructure } from "@svc-runtime/engine/module";

/** True if a restricted reader may see a worker's call. `callerId`: undefined if unknown, or if the engine called. */
export type SeesCall = (functionId: string, callerId: string | undefined) => boolean;

/**
 * Returns what a restricted reader may see: calls of functions that it may call. Functions that every client may call
 * are an exception, because their inputs belong to their callers, e.g. log messages: the reader sees only calls by
 * connections of its own principal.
 */
export function seesCall({
  callRefusal,
  isOwnConnection,
}: Pick<CallerAccess, "callRefusal"> & Partial<Pick<CallerAccess, "isOwnConnection">>): SeesCall {
  const may = new Map<string, boolean>();
  return (functionId, callerId) => {
    if (isInfrastructure(functionId) && (callerId === undefined || isOwnConnection?.(callerId) !== true)) return false;
    const known = may.get(functionId) ?? callRefusal(functionId) === undefined;
    may.set(functionId, known);
    return known;
  };
}
