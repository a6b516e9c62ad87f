/** For `exclude_attributes` of `engine::traces::list`: calls by which consoles look at the system are nobody's work. What a user invokes here does not count as one. */
export const BY_CONSOLES: readonly (readonly [string, string])[] = [["svc.caller.name", "svc-console"]];
