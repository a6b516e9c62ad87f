import { isSecretName, MASK } from "@svc-runtime/protocol/secrets";
import { maskedNamed } from "../../../lib/secrets.ts";
import type { Attribute, StoredSpan } from "../../../model/trace-types.ts";

/** Returns the span with its secrets masked. */
export function maskedSpan(span: StoredSpan): StoredSpan {
  return {
    ...span,
    attributes: maskedPairs(span.attributes),
    ...(span.attributes_map === undefined ? {} : { attributes_map: maskedRecord(span.attributes_map) }),
    events: span.events.map((event) => ({ ...event, attributes: maskedPairs(event.attributes) })),
    links: span.links.map((link) => ({ ...link, attributes: maskedPairs(link.attributes) })),
    baggage: maskedRecord(span.baggage),
    resource: maskedRecord(span.resource),
  };
}

function maskedPairs(pairs: readonly Attribute[]): readonly Attribute[] {
  return pairs.map(([key, text]) => [key, maskedNamed(key, text)]);
}

function maskedRecord<Value>(record: Readonly<Record<string, Value>>): Readonly<Record<string, Value | string>> {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [
      key,
      typeof value === "string" ? maskedNamed(key, value) : isSecretName(key) ? MASK : value,
    ]),
  );
}

export function holdsSecrets(span: StoredSpan): boolean {
  return jsonOf(maskedSpan(span)) !== jsonOf(span);
}

/**
 * Formats spans as JSON. `attributes_map` is left out, because its numbers may be rounded. `attributes` has the same
 * numbers as text.
 */
export function jsonOf(spans: StoredSpan | readonly StoredSpan[], indent?: number): string {
  return JSON.stringify(spans, (name, value: unknown) => (name === "attributes_map" ? undefined : value), indent);
}
