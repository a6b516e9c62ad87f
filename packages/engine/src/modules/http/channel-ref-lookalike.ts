import { Refusal } from "./refusal.ts";

/**
 * Throws 400 if a map of headers or parameters has all names of a channel reference. The SDK of the worker would turn
 * such a map into a channel reader or writer, so the function would not get its headers or parameters. `what` names the
 * map in the message.
 */
export function refuseRefLookalike(what: string, fields: Readonly<Record<string, string | undefined>>): void {
  const { access_key, channel_id, direction } = fields;
  if (access_key === undefined || channel_id === undefined || direction === undefined) return;
  const message = `the ${what} hold channel_id, access_key and direction together, which only the ref of a channel may`;
  throw new Refusal({ status: 400, code: "invalid_request", message });
}
