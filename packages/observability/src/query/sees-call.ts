import { type CallerAccess, isInfrastructure } from "@svc-runtime/engine/module";

/**
 * Returns true if a restricted reader may see a worker's call. `callerId` is undefined if the caller is unknown or is
 * the engine.
 */
export type SeesCall = (functionId: string, callerId: string | undefined) => boolean;

/**
 * Returns the function that decides which calls a restricted reader may see. It may see calls of functions that it may
 * call. There is one exception: of functions that every client may call, it sees only calls by connections of its own
 * principal. The reason is that the inputs of these calls, for example log messages, belong to their callers.
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
