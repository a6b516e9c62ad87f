import { nameProblem } from "@svc/protocol";

/** The one group of every system stream. */
export const SYSTEM_GROUP = "all";

/** Names that begin with this are the engine's own. */
export const SYSTEM_PREFIX = "svc.";

/** Longest id of an item that can be joined, in characters. */
export const MAX_ITEM_ID_CHARS = 1_024;

export interface StreamTarget {
  readonly stream: string;
  readonly group: string;
  /** Undefined: the whole group. */
  readonly id: string | undefined;
}

/** What a path asks for: a join at once, under the path as its name, or nothing yet. */
export interface StreamPath {
  readonly join: (StreamTarget & { readonly subscriptionId: string }) | undefined;
}

/** Reads `/` and `/stream/{name}/{group}[/{id}]`, percent-encoded; a slash at the end is accepted. Undefined: there is no such path. */
export function readStreamPath(path: string): StreamPath | undefined {
  if (path === "/") return { join: undefined };
  const subscriptionId = path.endsWith("/") ? path.slice(0, -1) : path;
  const [before, kind, ...encoded] = subscriptionId.split("/");
  if (before !== "" || kind !== "stream" || encoded.length < 2 || encoded.length > 3 || encoded.includes("")) return undefined;
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

/** As a join message may name them. What a message can name and a path cannot: names with slashes. */
function isJoinable([stream = "", group = "", id]: readonly string[]): boolean {
  return nameProblem(stream, "") === undefined && nameProblem(group, "") === undefined && (id === undefined || id.length <= MAX_ITEM_ID_CHARS);
}
