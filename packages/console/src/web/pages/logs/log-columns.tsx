import { Link } from "@tanstack/react-router";
import { Skull } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "../../labels/translate.ts";
import { maskedNamed, maskedPreview } from "../../lib/secrets.ts";
import { attributesText } from "../../model/log-attributes.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { cn } from "../../ui/cn.ts";
import { Timestamp } from "../../ui/time.tsx";
import { plainText } from "./ansi.ts";
import { functionOf, type Log, textOfValue } from "./log.ts";
import { fieldValue } from "./log-match.ts";
import { markedParts } from "./log-rows.ts";

const TONES: Readonly<Record<string, Tone>> = {
  TRACE: "neutral",
  DEBUG: "neutral",
  INFO: "info",
  WARN: "warn",
  ERROR: "danger",
};
/** Maximum length of a message in a row, in characters. */
const MAX_MESSAGE = 2_000;

export interface LogColumn {
  readonly key: string;
  readonly header: string;
  readonly width: string;
  /** The column is shown if the list has at least this width, in pixels. */
  readonly from: number;
  cell(log: Log, find: string): ReactNode;
}

export function LevelBadge({ log }: { readonly log: Pick<Log, "severity_text" | "fatal"> }) {
  return (
    <Badge
      tone={TONES[log.severity_text] ?? "neutral"}
      icon={log.fatal === true ? <Skull aria-hidden className="size-3" /> : undefined}
    >
      {log.severity_text}
      {log.fatal === true && <span>{t`FATAL`}</span>}
    </Badge>
  );
}

const BUILT_IN: readonly LogColumn[] = [
  {
    key: "time",
    header: t`Time`,
    width: "6.5rem",
    from: 0,
    cell: ({ timestamp_ms: ms }) => <Timestamp ms={ms} className="font-mono text-[12px] text-ink-2" />,
  },
  { key: "level", header: t`Level`, width: "4.5rem", from: 0, cell: (log) => <LevelBadge log={log} /> },
  {
    key: "source",
    header: t`Source`,
    width: "minmax(4rem,9rem)",
    from: 560,
    cell: ({ service_name: name }) => <span title={name}>{name}</span>,
  },
  {
    key: "function",
    header: t`Function`,
    width: "minmax(5rem,11rem)",
    from: 860,
    cell: (log) => <FunctionLink id={functionOf(log)} />,
  },
  { key: "trace", header: t`Trace`, width: "5.5rem", from: 640, cell: (log) => <TraceLink log={log} /> },
  {
    key: "message",
    header: t`Message`,
    width: "minmax(8rem,1fr)",
    from: 0,
    cell: (log, find) => <Message log={log} find={find} />,
  },
];

const NODE: LogColumn = {
  key: "node",
  header: t`Node`,
  width: "minmax(3rem,6rem)",
  from: 640,
  cell: ({ node }) => <span title={node}>{node}</span>,
};

const DEFAULT_COLUMNS: readonly string[] = BUILT_IN.map(({ key }) => key);
const COLUMNS_OF_SEVERAL = DEFAULT_COLUMNS.toSpliced(2, 0, NODE.key);

/** Returns the default columns. With `hasNodes`, they include the engine of the cluster. */
export function defaultColumns(hasNodes: boolean): readonly string[] {
  return hasNodes ? COLUMNS_OF_SEVERAL : DEFAULT_COLUMNS;
}

/** Returns the columns with these keys, in order. A key that is not a built-in column is an attribute. */
export function columnsOf(keys: readonly string[]): readonly LogColumn[] {
  return keys.map(
    (key) =>
      [...BUILT_IN, NODE].find((column) => column.key === key) ?? {
        key,
        header: key,
        width: "minmax(5rem,10rem)",
        from: 640,
        cell: (log) => {
          const value = fieldValue(log, key);
          if (value === undefined) return <span className="text-ink-3">–</span>;
          const text = maskedNamed(key, textOfValue(value).slice(0, MAX_MESSAGE));
          return <span title={text}>{text.slice(0, 200)}</span>;
        },
      },
  );
}

/**
 * Returns a message for one row. It is shortened and has no escape sequences. If it is JSON, its secrets are masked.
 */
export function lineOf(body: string): string {
  return plainText(/^\s*[[{]/.test(body) ? maskedPreview(body, MAX_MESSAGE) : body.slice(0, MAX_MESSAGE));
}

function Message({ log, find }: { readonly log: Log; readonly find: string }) {
  const attributes = attributesText(log.attributes);
  return (
    <>
      <MessageText text={log.body} find={find} />
      {attributes !== "" && <span className="ml-2 font-mono text-[11px] text-ink-3">{attributes}</span>}
    </>
  );
}

function MessageText({ text, find }: { readonly text: string; readonly find: string }) {
  const shown = lineOf(text);
  if (find === "") return <span className="font-mono text-[12px]">{shown}</span>;
  return (
    <span className="font-mono text-[12px]">
      {markedParts(shown, find).map((part, index) =>
        index % 2 === 1 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have nothing else
          <mark key={index} className="rounded-sm bg-warn-soft text-warn underline">
            {part}
          </mark>
        ) : (
          part
        ),
      )}
    </span>
  );
}

/** Link to the entry's span in its trace. */
export function TraceLink({
  log: { trace_id: traceId, span_id: spanId },
  isWhole = false,
}: {
  readonly log: Pick<Log, "trace_id" | "span_id">;
  readonly isWhole?: boolean;
}) {
  if (traceId === null) return isWhole ? null : <span className="text-ink-3">–</span>;
  return (
    <Link
      to="/traces/{-$traceId}/{-$spanId}"
      params={{ traceId, spanId: spanId ?? undefined }}
      search={{}}
      title={spanId === null ? t`Open the trace ${traceId}` : t`Open the trace ${traceId}, span ${spanId}`}
      onClick={(event) => event.stopPropagation()}
      tabIndex={isWhole ? 0 : -1}
      className={cn("break-all font-mono text-[12px] text-accent hover:underline", isWhole && "underline")}
    >
      {isWhole ? traceId : traceId.slice(0, 8)}
    </Link>
  );
}

export function FunctionLink({ id, isWhole = false }: { readonly id: string | undefined; readonly isWhole?: boolean }) {
  if (id === undefined) return <span className="text-ink-3">–</span>;
  return (
    <Link
      to="/functions/{-$functionId}"
      params={{ functionId: id }}
      search={{}}
      title={id}
      onClick={(event) => event.stopPropagation()}
      tabIndex={isWhole ? 0 : -1}
      className={cn("text-accent hover:underline", isWhole && "underline")}
    >
      {id}
    </Link>
  );
}
