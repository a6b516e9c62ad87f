import { maskedNamed } from "../lib/secrets.ts";

const MAX_ATTRIBUTES = 6;
/** Maximum length of a value that is searched for secrets, in characters. */
const MAX_READ = 2_000;
/** Maximum length of a value in a row, in characters. */
const MAX_ATTRIBUTE = 60;
/** Attributes that are left out, because other columns show them or they are not useful in a row. */
const HIDDEN_ATTRIBUTES = /^(?:svc\.|function_id$|invocation_id$|worker_id$)/;

/** Returns the first attributes of a log entry for one row, e.g. `order=17 total=9.5`, with secrets masked. */
export function attributesText(attributes: Readonly<Record<string, unknown>>): string {
  return Object.entries(attributes)
    .filter(([name]) => !HIDDEN_ATTRIBUTES.test(name))
    .slice(0, MAX_ATTRIBUTES)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
      return `${name}=${maskedNamed(name, text.slice(0, MAX_READ)).slice(0, MAX_ATTRIBUTE)}`;
    })
    .join(" ");
}
