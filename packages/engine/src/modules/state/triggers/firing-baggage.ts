/** Longest baggage that is carried, in bytes; with more of it the firing is known by its traceparent alone. */
const MAX_BAGGAGE_BYTES = 8_192;
const KEY = "svc.firing=";
const MEMBER = /(?:^|,)[ \t]*svc\.firing=([0-9a-f]{32}-[0-9a-f]{16})[ \t]*(?=,|$)/;
const MEMBERS = new RegExp(MEMBER, "g");

/** Baggage that names a firing, `<trace id>-<span id>`, besides what it held. */
export function withFiring(baggage: string | undefined, firing: string): string | undefined {
  const others = withoutFiring(baggage);
  const all = others === undefined ? `${KEY}${firing}` : `${others},${KEY}${firing}`;
  return all.length <= MAX_BAGGAGE_BYTES ? all : others;
}

/** The firing that baggage names. */
export function firingIn(baggage: string | undefined): string | undefined {
  return baggage?.includes(KEY) ? MEMBER.exec(baggage)?.[1] : undefined;
}

/** What the write's own caller put into the baggage. */
export function withoutFiring(baggage: string | undefined): string | undefined {
  if (!baggage?.includes(KEY)) return baggage;
  const others = baggage.replace(MEMBERS, "").replace(/^[ \t]*,/, "");
  return others === "" ? undefined : others;
}
