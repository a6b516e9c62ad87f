import { type JsonValue, parseJson } from "../../../lib/json.ts";
import { Duration } from "../../../ui/time.tsx";
import { statusLabel } from "../model.ts";
import { type Difference, jsonDiff } from "./json-diff.ts";
import { type InvocationDetail, type Preview, useInvocation } from "./use-history.ts";

const MARKS: Readonly<Record<Difference["kind"], string>> = { added: "+", removed: "−", changed: "≠" };

/** Differences between a call and the previous call. */
export function Compare({
  invocation,
  previousId,
}: {
  readonly invocation: InvocationDetail;
  readonly previousId: string;
}) {
  const { data: previous, error } = useInvocation(previousId);
  if (error !== null) return <p role="alert">Failed to load the previous call: {error.message}</p>;
  if (previous === undefined) return <p role="status">Loading the previous call…</p>;
  if (previous === null) return <p>The previous call is no longer stored.</p>;
  return (
    <section aria-label="Comparison" className="flex flex-col gap-2 rounded-md border border-line p-3">
      <Summary name="Previous call" invocation={previous} />
      <Summary name="This call" invocation={invocation} />
      <Differences title="Input" before={previous.input} after={invocation.input} />
      <Differences title="Output" before={previous.output} after={invocation.output} />
    </section>
  );
}

function Summary({
  name,
  invocation: { status, duration_ms: durationMs },
}: {
  readonly name: string;
  readonly invocation: InvocationDetail;
}) {
  return (
    <p className="text-ink-2">
      {name}: {statusLabel(status)}
      {durationMs !== null && (
        <>
          , <Duration ms={durationMs} />
        </>
      )}
    </p>
  );
}

function Differences({
  title,
  before,
  after,
}: {
  readonly title: string;
  readonly before: Preview | null;
  readonly after: Preview | null;
}) {
  const values = [before, after].map(valueIn);
  if (values.includes("unreadable"))
    return <p className="text-ink-2">{title}: cannot be compared, because only a part was stored.</p>;
  const found = jsonDiff(values[0] as JsonValue | undefined, values[1] as JsonValue | undefined);
  return (
    <div>
      <h4 className="font-medium text-ink-2">
        {title}:{" "}
        {found.length === 0 ? "no differences" : `${found.length} ${found.length === 1 ? "difference" : "differences"}`}
      </h4>
      <ul className="flex flex-col gap-1 pt-1">
        {found.map(({ path, kind, before: was, after: is }) => (
          <li key={path} className="rounded bg-raised px-2 py-1 font-mono text-[12px]">
            <span role="img" aria-label={kind}>
              {MARKS[kind]}
            </span>{" "}
            <span className="text-violet">{path}</span>
            {was !== undefined && <del className="block break-words text-danger">{was.slice(0, 500)}</del>}
            {is !== undefined && <ins className="block break-words text-ok no-underline">{is.slice(0, 500)}</ins>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function valueIn(preview: Preview | null): JsonValue | undefined | "unreadable" {
  if (preview === null) return undefined;
  if (preview.truncated) return "unreadable";
  try {
    return parseJson(preview.json);
  } catch {
    return "unreadable";
  }
}
