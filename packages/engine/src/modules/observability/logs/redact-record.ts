import { SecretMask } from "@svc/protocol/secrets";
import type { LogRecord } from "../model.ts";
import type { RedactAttributes } from "./log-json.ts";

/** The record as it may be shown, searched and kept on disk. Its body is kept as it was written. */
export function redactRecord(log: LogRecord, redact: RedactAttributes): LogRecord {
  return { ...log, attributes: redact(log.attributes), resource: { ...log.resource, attributes: redact(log.resource.attributes) } };
}

/** Hides the values of these keys; for where only the keys come, as the store's thread. */
export function redactionOf(keys: readonly string[]): RedactAttributes {
  const redactor = new SecretMask(keys);
  return (attributes) => redactor.attributes(attributes);
}
