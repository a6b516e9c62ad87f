/** The one group of every system stream. */
export const SYSTEM_GROUP = "all";

/** Names that begin with this are the engine's own. */
export const SYSTEM_PREFIX = "svc.";

export interface StreamTarget {
  readonly stream: string;
  readonly group: string;
  /** Undefined: the whole group. */
  readonly id: string | undefined;
}

/** What a path of the real-time listener stands for: `/` nothing yet, `/stream/{name}/{group}[/{id}]` a join. Undefined: there is no such path. */
export function readStreamPath(path: string): { readonly join: (StreamTarget & { readonly subscriptionId: string }) | undefined } | undefined {
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
  const [stream, group, id] = names as [string, string, string | undefined];
  return { join: { subscriptionId, stream, group, id } };
}
