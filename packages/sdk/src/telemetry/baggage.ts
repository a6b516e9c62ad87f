/** As many members as W3C Baggage asks to be passed on, and more than that: what is beyond is not looked at. */
const MAX_MEMBERS = 180;

export interface BaggageMember {
  readonly name: string;
  /** Decoded. */
  readonly value: string;
  /** As they came, without the first semicolon; empty when there are none. */
  readonly properties: string;
}

/** Members of a `baggage` header: https://www.w3.org/TR/baggage/ */
export function baggageMembers(text: string): readonly BaggageMember[] {
  return text.split(",", MAX_MEMBERS).flatMap((member) => {
    const [pair = "", ...properties] = member.split(";");
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, equals)).trim();
    return name === "" ? [] : [{ name, value: decoded(pair.slice(equals + 1).trim()), properties: properties.join(";").trim() }];
  });
}

/** Its entries without their properties. Of a name that comes twice the last one counts. */
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
