import { nameProblem } from "@svc-runtime/protocol";

/** The only group of every system stream. */
export const SYSTEM_GROUP = "all";

/** Prefix of the names of the engine's own streams. */
export const SYSTEM_PREFIX = "svc.";

/** Longest id of an item that can be joined, in characters. */
export const MAX_ITEM_ID_CHARS = 1_024;

export interface StreamTarget {
  readonly stream: string;
  readonly group: string;
  /** Undefined: the whole group. */
  readonly id: string | undefined;
}

/** A parsed path. If `join` is set, the connection joins at once. The path is the subscription id. */
export interface StreamPath {
  readonly join: (StreamTarget & { readonly subscriptionId: string }) | undefined;
}

/**
 * Parses `/` and `/stream/{name}/{group}[/{id}]`, percent-encoded, with or without a trailing slash. Returns undefined
 * for other paths.
 */
export function readStreamPath(path: string): StreamPath | undefined {
  if (path === "/") return { join: undefined };
  const subscriptionId = path.endsWith("/") ? path.slice(0, -1) : path;
  const [before, kind, ...encoded] = subscriptionId.split("/");
  if (before !== "" || kind !== "stream" || encoded.length < 2 || encoded.length > 3 || encoded.includes(""))
    return undefined;
  let names: string[];
  try {
    names = encoded.map(decodeURIComponent);
  } catch {
    return undefined;
  }
  if (names.some((name) => /[/\\]|^[.]{1,2}$/.test(name)) || !isJoinable(names)) return undefined;
  const [stream, group, id] = names as [string, string, string | undefined];
  return { join: { subscriptionId, stream, group, id } };
}

/** Returns whether a join message could use the names. Names with slashes can be used in messages but not in paths. */
function isJoinable([stream = "", group = "", id]: readonly string[]): boolean {
  return (
    nameProblem(stream, "") === undefined &&
    nameProblem(group, "") === undefined &&
    (id === undefined || id.length <= MAX_ITEM_ID_CHARS)
  );
}
