import { maskText } from "@svc-runtime/protocol/secrets";
import { plural, t } from "../../../labels/translate.ts";
import { type JsonValue, parseJson } from "../../../lib/json.ts";
import { Duration } from "../../../ui/time.tsx";
import { statusLabel } from "../model.ts";
import { type Difference, jsonDiff } from "./json-diff.ts";
import { type InvocationDetail, type Preview, useInvocation } from "./use-history.ts";

const MARKS: Readonly<Record<Difference["kind"], string>> = { added: "+", removed: "−", changed: "≠" };

/** Differences between a call and another call of the function. */
export function Compare({
  invocation,
  otherId,
  otherName,
}: {
  readonly invocation: InvocationDetail;
  readonly otherId: string;
  readonly otherName: string;
}) {
  const { data: other, error } = useInvocation(otherId);
  const name = t`the ${otherName.toLowerCase()}`;
  if (error !== null) return <p role="alert">{t`Failed to load ${name}: ${error.message}`}</p>;
  if (other === undefined) return <p role="status">{t`Loading ${name}…`}</p>;
  if (other === null) return <p>{t`${otherName} not found; it may have been evicted.`}</p>;
  return (
    <section aria-label={t`Comparison`} className="flex flex-col gap-2 rounded-md border border-line p-3">
      <Summary name={otherName} invocation={other} />
      <Summary name={t`This call`} invocation={invocation} />
      <Differences title={t`Input`} before={other.input} after={invocation.input} />
      {other.error == null && invocation.error == null ? (
        <Differences title={t`Output`} before={other.output} after={invocation.output} />
      ) : (
        <Differences title={t`Outcome`} before={outcomeIn(other)} after={outcomeIn(invocation)} />
      )}
    </section>
  );
}

function Summary({
  name,
  invocation: { status, duration_ms: durationMs, error },
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
      {error != null && (
        <>
          , <code className="text-danger">{error.code}</code>
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
    return <p className="text-ink-2">{t`${title}: cannot be compared, because only a part was stored.`}</p>;
  const found = jsonDiff(values[0] as JsonValue | undefined, values[1] as JsonValue | undefined);
  return (
    <div>
      <h4 className="font-medium text-ink-2">
        {found.length === 0
          ? t`${title}: no differences`
          : plural(found.length, "{0}: # difference", "{0}: # differences", title)}
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

/** Returns the outcome of a call: its error if it failed, otherwise its output. */
function outcomeIn({ error, output }: InvocationDetail): Preview | null {
  if (error == null) return output;
  const { code, message, details } = error;
  return { json: JSON.stringify({ error: { code, message: maskText(message), details } }), truncated: false };
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
