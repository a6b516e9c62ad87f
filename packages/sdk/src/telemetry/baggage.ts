/** Maximum number of members that are parsed. W3C Baggage requires at least 64. */
const MAX_MEMBERS = 180;

export interface BaggageMember {
  readonly name: string;
  /** Decoded value. */
  readonly value: string;
  /** Properties as they were received, without the first semicolon. Empty if there are none. */
  readonly properties: string;
}

/** Parses a `baggage` header: https://www.w3.org/TR/baggage/ */
export function baggageMembers(text: string): readonly BaggageMember[] {
  return text.split(",", MAX_MEMBERS).flatMap((member) => {
    const [pair = "", ...properties] = member.split(";");
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, equals)).trim();
    return name === ""
      ? []
      : [{ name, value: decoded(pair.slice(equals + 1).trim()), properties: properties.join(";").trim() }];
  });
}

/** Returns the entries without their properties. If a name is repeated, its last value is used. */
export function readBaggage(text: string | undefined): ReadonlyMap<string, string> {
  return new Map(baggageMembers(text ?? "").map(({ name, value }) => [name, value]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
