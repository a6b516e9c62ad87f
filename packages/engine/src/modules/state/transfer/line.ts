import { CallError, MAX_PAYLOAD_DEPTH, memberTexts, nestsDeeperThan, Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import { type StoredJson, storedJson } from "../../../items/stored-json.ts";
import { key, scope } from "../inputs.ts";

/** Maximum version of an imported item: below 2^53, so that later writes can increment it exactly. */
const MAX_VERSION = 2 ** 52;

/** A parsed line of an import. The time of the exported item is ignored. */
export interface ImportLine {
  readonly scope: string;
  readonly key: string;
  readonly value: StoredJson;
  readonly version: number | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
}

const lineSchema = z.object({
  scope,
  key,
  version: z.int().min(1).max(MAX_VERSION).nullish(),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});

/**
 * Parses a line. Throws CallError `invalid_input` or `payload_too_large`; the message does not include the line number.
 */
export function parseLine(text: string, maxValueBytes: number): ImportLine {
  if (nestsDeeperThan(text, MAX_PAYLOAD_DEPTH))
    throw new CallError("invalid_input", `is nested deeper than ${MAX_PAYLOAD_DEPTH} levels`);
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (cause) {
    throw new CallError("invalid_input", `is not JSON: ${(cause as Error).message}`, { cause });
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    throw new CallError("invalid_input", "is not a JSON object");
  const parsed = lineSchema.safeParse(raw);
  if (!parsed.success)
    throw new CallError(
      "invalid_input",
      parsed.error.issues.map(({ path, message }) => `\`${path.join(".")}\`: ${message}`).join("; "),
    );
  const json = memberTexts(text).get("value");
  if (json === undefined) throw new CallError("invalid_input", "`value`: is missing");
  const value = storedJson(Payload.fromText(json), {
    name: "value",
    maxBytes: maxValueBytes,
    limit: "max_value_bytes of svc-state",
  });
  const { version, expires_at } = parsed.data;
  return {
    scope: parsed.data.scope,
    key: parsed.data.key,
    value,
    version: version ?? undefined,
    expiresAt: expires_at == null ? undefined : Date.parse(expires_at),
  };
}
