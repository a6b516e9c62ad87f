/** Maximum size of the baggage, in bytes. If it is exceeded, only the traceparent identifies the delivery. */
const MAX_BAGGAGE_BYTES = 8_192;
const KEY = "svc.firing=";
const MEMBER = /(?:^|,)[ \t]*svc\.firing=([0-9a-f]{32}-[0-9a-f]{16})[ \t]*(?=,|$)/;
const MEMBERS = new RegExp(MEMBER, "g");

/** Adds a delivery, `<trace id>-<span id>`, to the baggage. */
export function withDelivery(baggage: string | undefined, delivery: string): string | undefined {
  const others = withoutDelivery(baggage);
  const all = others === undefined ? `${KEY}${delivery}` : `${others},${KEY}${delivery}`;
  return all.length <= MAX_BAGGAGE_BYTES ? all : others;
}

/** Returns the delivery that the baggage names. */
export function deliveryIn(baggage: string | undefined): string | undefined {
  return baggage?.includes(KEY) ? MEMBER.exec(baggage)?.[1] : undefined;
}

/** Returns the baggage without the delivery. */
export function withoutDelivery(baggage: string | undefined): string | undefined {
  if (!baggage?.includes(KEY)) return baggage;
  const others = baggage.replace(MEMBERS, "").replace(/^[ \t]*,/, "");
  return others === "" ? undefined : others;
}
