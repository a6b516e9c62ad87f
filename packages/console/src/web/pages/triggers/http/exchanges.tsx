import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { HttpTestResult } from "../../../../contract/api.ts";
import { t } from "../../../labels/translate.ts";
import { bytes } from "../../../lib/time.ts";
import { Badge, type Tone } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { JsonView } from "../../../ui/json-view.tsx";
import { ScrollArea } from "../../../ui/scroll-area.tsx";
import { Duration, Timestamp, useNow } from "../../../ui/time.tsx";
import { bodyOf, bytesOf, hexDump } from "./body.ts";
import type { Exchange } from "./http-store.ts";

/** The latest response and the earlier ones. */
export function Exchanges({
  exchanges,
  onEdit,
}: {
  readonly exchanges: readonly Exchange[];
  readonly onEdit: (exchange: Exchange) => void;
}) {
  const [selectedId, setSelectedId] = useState<number>();
  const latest = exchanges[0];
  if (latest === undefined) return null;
  const shown = exchanges.find(({ id }) => id === selectedId) ?? latest;
  return (
    <section aria-label={t`Response`} className="flex flex-col gap-2 border-line border-t pt-3">
      <Response key={shown.id} exchange={shown} />
      {exchanges.length > 1 && (
        <details>
          <summary className="cursor-pointer text-ink-2">{t`The last ${exchanges.length} requests`}</summary>
          <ol className="flex flex-col pt-1">
            {exchanges.map((exchange) => (
              <li key={exchange.id} className="flex items-center gap-2 border-line/60 border-b py-0.5">
                <button
                  type="button"
                  aria-current={exchange.id === shown.id}
                  onClick={() => setSelectedId(exchange.id)}
                  className="flex min-w-0 flex-1 items-center gap-2 rounded text-left hover:bg-hover"
                >
                  <StatusBadge exchange={exchange} />
                  <code className="min-w-0 flex-1 truncate">
                    {exchange.request.method} {exchange.request.path}
                  </code>
                  <Timestamp ms={exchange.startedAtMs} withMs={false} className="text-ink-3" />
                </button>
                <Button
                  look="ghost"
                  className="h-6"
                  onClick={() => onEdit(exchange)}
                  title={t`Load this request into the tester`}
                >
                  {t`Edit`}
                </Button>
              </li>
            ))}
          </ol>
        </details>
      )}
    </section>
  );
}

const STATES: Readonly<Record<Exchange["state"], { readonly label: string; readonly tone: Tone }>> = {
  running: { label: t`Running`, tone: "info" },
  answered: { label: t`Answered`, tone: "neutral" },
  cancelled: { label: t`Cancelled`, tone: "neutral" },
  failed: { label: t`No response`, tone: "danger" },
};

function StatusBadge({ exchange: { state, result } }: { readonly exchange: Exchange }) {
  if (result === undefined) {
    const { label, tone } = STATES[state];
    return <Badge tone={tone}>{label}</Badge>;
  }
  const tone: Tone =
    result.status < 300 ? "ok" : result.status < 400 ? "info" : result.status < 500 ? "warn" : "danger";
  return (
    <Badge tone={tone}>
      {result.status} {result.status_text}
    </Badge>
  );
}

function Response({ exchange }: { readonly exchange: Exchange }) {
  const { result, failure, state } = exchange;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h4 className="font-medium">{t`Response`}</h4>
        <span role="status">
          <StatusBadge exchange={exchange} />
        </span>
        {state === "running" ? (
          <Elapsed sinceMs={exchange.startedAtMs} />
        ) : (
          exchange.durationMs !== undefined && <Duration ms={exchange.durationMs} />
        )}
        {result !== undefined && <span className="text-ink-2">{bytes(result.bytes)}</span>}
        {exchange.traceId !== undefined && state !== "running" && (
          <Link
            to="/traces/{-$traceId}/{-$spanId}"
            params={{ traceId: exchange.traceId, spanId: "root" }}
            search={{ view: "waterfall" }}
            className="text-accent underline"
          >
            {t`Trace`}
          </Link>
        )}
      </div>
      {failure !== undefined && (
        <p role="alert" className="rounded-md bg-danger-soft px-3 py-1.5 text-danger">
          {failure.message}
        </p>
      )}
      {state === "cancelled" && (
        <p className="text-ink-2">{t`The request was cancelled before the response arrived.`}</p>
      )}
      {result !== undefined && (
        <>
          <Body result={result} />
          <Headers result={result} />
        </>
      )}
    </>
  );
}

function Elapsed({ sinceMs }: { readonly sinceMs: number }) {
  const now = useNow();
  return <span className="text-ink-2 tabular-nums">{Math.max(0, Math.round((now - sinceMs) / 1000))} s</span>;
}

function Headers({ result }: { readonly result: HttpTestResult }) {
  return (
    <details open>
      <summary className="cursor-pointer text-ink-2">{t`Headers (${result.headers.length})`}</summary>
      <table className="w-full text-left font-mono text-[12px]">
        <caption className="sr-only">{t`Headers of the response`}</caption>
        <tbody>
          {result.headers.map(([name, value], at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a header may come twice with one value
            <tr key={at} className="border-line/60 border-b align-top">
              <th scope="row" className="py-0.5 pr-3 font-normal text-violet">
                {name}
              </th>
              <td className="break-all py-0.5">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function Body({ result }: { readonly result: HttpTestResult }) {
  const shown = useMemo(() => bodyOf(result), [result]);
  const cut = result.truncated ? <p className="text-warn">{t`The body is truncated.`}</p> : null;
  if (shown.kind === "empty") return cut ?? <p className="text-ink-2">{t`No body.`}</p>;
  if (shown.kind === "image") {
    return (
      <>
        {cut}
        <img
          src={shown.url}
          alt={t`The response's body`}
          className="max-h-80 max-w-full self-start rounded-md border border-line bg-raised"
        />
        <Download base64={shown.base64} />
      </>
    );
  }
  if (shown.kind === "binary") {
    return (
      <>
        {cut}
        <ScrollArea label={t`Bytes of the body`} className="max-h-80 rounded-md bg-raised p-2">
          <pre>{hexDump(shown.base64)}</pre>
        </ScrollArea>
        <Download base64={shown.base64} />
      </>
    );
  }
  return (
    <>
      {cut}
      {shown.kind === "html" && <p className="text-ink-2">{t`HTML, shown as source.`}</p>}
      {/* JsonView shows a text that is not JSON unchanged. */}
      <JsonView text={shown.text} name={t`the body`} openTo={3} />
    </>
  );
}

function Download({ base64 }: { readonly base64: string }) {
  const save = (): void => {
    const url = URL.createObjectURL(new Blob([bytesOf(base64)]));
    const link = document.createElement("a");
    link.href = url;
    link.download = "body";
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <div>
      <Button onClick={save}>{t`Download`}</Button>
    </div>
  );
}
