import type { CallError } from "@svc-runtime/protocol";
import type { Directory } from "./directory.ts";

/** Permissions of a restricted caller. Functions that list or name other objects must check them. */
export interface CallerAccess {
  /**
   * Returns the directory without what the caller may not see: functions that it may not call, their triggers, and
   * workers of other principals.
   */
  visible(directory: Directory): Directory;
  /**
   * Returns a FORBIDDEN error if the caller may not call the function, or only through a middleware; undefined if it
   * may.
   */
  callRefusal(functionId: string): CallError | undefined;
  /** Returns whether an open connection of the caller's principal has this worker id. */
  isOwnConnection(workerId: string): boolean;
  /**
   * Returns an error if the engine may not call the function on the caller's behalf, e.g. for a job; undefined if it
   * may. The engine's own functions are never allowed.
   */
  deferRefusal(functionId: string): CallError | undefined;
  /**
   * Returns an error if the caller may not bind a trigger to the function or to the functions that the config names.
   */
  bindRefusal(trigger: {
    readonly type: string;
    readonly functionId: string;
    readonly config: unknown;
  }): CallError | undefined;
}
