import { Refusal } from "./failure.ts";

/**
 * Refuses names that make a map look like the ref of a channel: clients would pass a reader or writer to the function
 * instead of its headers or parameters. `what` names the map. Throws 400.
 */
export function refuseRefLookalike(what: string, fields: Readonly<Record<string, string | undefined>>): void {
  const { access_key, channel_id, direction } = fields;
  if (access_key === undefined || channel_id === undefined || direction === undefined) return;
  const message = `the ${what} hold channel_id, access_key and direction together, which only the ref of a channel may`;
  throw new Refusal({ status: 400, code: "invalid_request", message });
}
