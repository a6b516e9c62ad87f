/**
 * Names of fields with ids that svc generates. Fields in `HIDDEN` are not shown. Ids in `TRACE` and `OTHER` are
 * shortened.
 */
const HIDDEN: ReadonlySet<string> = new Set(["log_id", "span_id", "spanId"]);
const TRACE: ReadonlySet<string> = new Set(["trace_id", "traceId"]);
const OTHER: ReadonlySet<string> = new Set(
  ["invocation", "worker", "trigger", "instance"].flatMap((of) => [`${of}_id`, `${of}Id`]),
);
/** Length of a shortened trace id. Commands that take a trace id accept an id of this length. */
const TRACE_CHARACTERS = 12;
const CHARACTERS = 8;
const GENERATED = /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/**
 * Returns the fields of a log line. Ids that svc generated are shortened, with the trace id last. If `quiet` is true,
 * these ids are left out. Ids in users' own fields are not changed.
 */
export function withShortIds(
  fields: Readonly<Record<string, unknown>>,
  { quiet }: { readonly quiet: boolean },
): Readonly<Record<string, unknown>> {
  const shown: [string, unknown][] = [];
  let trace: string | undefined;
  for (const [name, value] of Object.entries(fields)) {
    const isId = typeof value === "string" && GENERATED.test(value);
    if (HIDDEN.has(name)) continue;
    if (TRACE.has(name) && isId) trace = value.slice(0, TRACE_CHARACTERS);
    else if (!OTHER.has(name) || !isId) shown.push([name, value]);
    else if (!quiet) shown.push([name, value.slice(0, CHARACTERS)]);
  }
  if (trace !== undefined && !quiet) shown.push(["trace", trace]);
  return Object.fromEntries(shown);
}
