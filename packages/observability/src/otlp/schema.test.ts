import { expect, test } from "vitest";
import { type MessageSchema, REQUESTS, RESPONSES } from "./schema.ts";
import { OFFICIAL_FIELDS } from "./testing/official-fields.ts";

/** Returns the differences between a schema and the official message, and those of the messages in it. */
function differences(schema: MessageSchema, message: string, checked = new Set<string>()): readonly string[] {
  const official = new Map(
    (OFFICIAL_FIELDS[message] ?? "").split(", ").map((field) => [Number(field.split(" ")[0]), field]),
  );
  checked.add(message);
  return [...schema].flatMap(([number, { name, kind, repeated }]) => {
    const [, , type = ""] = official.get(number)?.split(" ") ?? [];
    const inner = type.replace("*", "");
    const ours = typeof kind === "string" ? (kind === "hex" ? "bytes" : kind) : inner;
    const field = `${number} ${name} ${ours}${repeated === true ? "*" : ""}`;
    const own = official.get(number) === field ? [] : [`${message}: ${field}, not ${official.get(number)}`];
    if (typeof kind === "string" || checked.has(inner)) return own;
    const innerSchema = typeof kind === "function" ? kind() : kind;
    return inner in OFFICIAL_FIELDS
      ? [...own, ...differences(innerSchema, inner, checked)]
      : [...own, `${message}: ${name} is no message`];
  });
}

test("every field of the requests and responses is as in the official descriptor", () => {
  const checked = new Set<string>();
  const found = (["Trace", "Logs", "Metrics"] as const).flatMap((service) => {
    const signal = service === "Trace" ? "traces" : (service.toLowerCase() as "logs" | "metrics");
    return [
      ...differences(REQUESTS[signal], `Export${service}ServiceRequest`, checked),
      ...differences(RESPONSES[signal], `Export${service}ServiceResponse`, checked),
    ];
  });
  expect(found).toEqual([]);
  for (const message of ["Span.Event", "LogRecord", "ExponentialHistogramDataPoint.Buckets", "KeyValueList"])
    expect(checked).toContain(message);
});
