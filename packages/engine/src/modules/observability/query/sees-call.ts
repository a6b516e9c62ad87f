import { type CallerAccess, isInfrastructure } from "../../../kernel/module.ts";

/** Whether a restricted reader may see the call of a function by a worker; undefined: nobody knows which worker, or the engine called. */
export type SeesCall = (functionId: string, callerId: string | undefined) => boolean;

/**
 * Returns what a restricted reader may see: calls of functions that it may call. Functions that every client may call are an exception, since their inputs
 * are their callers' own, e.g. log messages: the reader sees calls by connections of its own principal only.
 */
export function seesCall({ callRefusal, isOwnConnection }: Pick<CallerAccess, "callRefusal"> & Partial<Pick<CallerAccess, "isOwnConnection">>): SeesCall {
  const may = new Map<string, boolean>();
  return (functionId, callerId) => {
    if (isInfrastructure(functionId) && (callerId === undefined || isOwnConnection?.(callerId) !== true)) return false;
    const known = may.get(functionId) ?? callRefusal(functionId) === undefined;
    may.set(functionId, known);
    return known;
  };
}
