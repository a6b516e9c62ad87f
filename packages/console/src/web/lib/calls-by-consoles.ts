/**
 * Value for `exclude_attributes` of `engine::traces::list`. It excludes the calls that consoles make to read data.
 * Calls that users make in the console are not excluded.
 */
export const CALLS_BY_CONSOLES: readonly (readonly [string, string])[] = [["svc.caller.name", "svc-console"]];
