import { Refusal } from "./refusal.ts";

/**
 * Refuses names by which every client would take the map for the ref of a channel and hand its function a reader or writer in its
 * place, without the headers or parameters that it looks for. `what` says where they stand. Throws 400.
 */
export function refuseRefLookalike(what: string, fields: Readonly<Record<string, string | undefined>>): void {
  const { access_key, channel_id, direction } = fields;
  if (access_key === undefined || channel_id === undefined || direction === undefined) return;
  const message = `the ${what} hold channel_id, access_key and direction together, which only the ref of a channel may`;
  throw new Refusal({ status: 400, code: "invalid_request", message });
}
