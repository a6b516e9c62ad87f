import { maskText } from "@svc-runtime/protocol/secrets";
import { Link } from "@tanstack/react-router";
import { Ellipsis, FileText, GitCompare, Link2 } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { useCopyLink } from "../../../app/copy-link.ts";
import { t } from "../../../labels/translate.ts";
import { duration } from "../../../lib/time.ts";
import type { SpanNode, TraceForest } from "../../../model/span-forest.ts";
import { asyncWorkText, firstFailure, outcomeOf } from "../../../model/trace-outcome.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { cn } from "../../../ui/cn.ts";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { useIsNarrow } from "../../../ui/list-detail.tsx";
import { Timestamp } from "../../../ui/time.tsx";
import { TraceStatusBadge } from "../list/trace-columns.tsx";
import { jsonOf, maskedSpan } from "../model/masked-span.ts";
import { markdownOf } from "../model/trace-text.ts";
import { ExportTrace } from "./export-trace.tsx";
import { fetchWholeTrace } from "./read-spans.ts";
import { BUTTON_LINK, Replay } from "./replay.tsx";

/** Summary of the trace, with its actions. */
export function TraceHeader({
  traceId,
  forest,
  nowMs,
  onCompare,
  onSelect,
}: {
  readonly traceId: string;
  readonly forest: TraceForest;
  readonly nowMs: number;
  readonly onCompare: () => void;
  readonly onSelect: (spanId: string) => void;
}) {
  const copyLink = useCopyLink();
  const isNarrow = useIsNarrow(640);
  const [isOpen, setOpen] = useState(false);
  const { root } = forest;
  const { status, durationMs, asyncWork } = outcomeOf(forest);
  const link = `${location.origin}/traces/${traceId}`;
  return (
    <div className="flex flex-col gap-2 border-line border-b bg-surface px-4 py-2">
      <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="min-w-0 truncate font-semibold text-[15px]" title={root?.name}>
          {root?.name ?? traceId}
        </h2>
        <TraceStatusBadge status={status} />
        {forest.orphanCount > 0 && (
          <Badge tone="warn" title={t`Some spans reference a parent that has not arrived or was dropped`}>
            {t`Partial trace`}
          </Badge>
        )}
        <span className="flex min-w-0 items-center gap-1 font-mono text-[12px] text-ink-3">
          <span className="truncate">{traceId}</span>
          <CopyButton text={traceId} label={t`Copy the trace ID`} className="size-6" />
        </span>
      </div>
      <dl className="flex flex-wrap gap-x-5 gap-y-0.5 text-[12px]">
        <Fact name={t`Duration`}>
          {durationMs === undefined ? t`${duration(Math.max(forest.lengthMs, nowMs))} so far` : duration(durationMs)}
        </Fact>
        {asyncWork !== undefined && (
          <Fact name={t`Asynchronous work`}>
            <span className={asyncWork.errors > 0 ? "text-danger" : undefined}>{asyncWorkText(asyncWork)}</span>
          </Fact>
        )}
        <Fact name={t`Started`}>
          {root?.span !== undefined && <Timestamp ms={millisOf(root.span.start_time_unix_nano_text)} as="date" />}
        </Fact>
        <Fact name={t`Spans`}>{forest.spanCount.toLocaleString("en-GB")}</Fact>
        <Fact name={t`Services`}>{forest.services.length}</Fact>
        <Fact name={t`Errors`}>{forest.errorCount}</Fact>
        <Fact name={t`Depth`}>{forest.depth}</Fact>
      </dl>
      <FirstFailure node={useMemo(() => firstFailure(forest), [forest])} onSelect={onSelect} />
      {isNarrow && (
        <Button
          aria-expanded={isOpen}
          className="self-start"
          onClick={() => setOpen(!isOpen)}
          icon={<Ellipsis aria-hidden className="size-3.5" />}
        >
          {t`Copy, export, compare`}
        </Button>
      )}
      <div className={cn("flex flex-wrap gap-1.5", isNarrow && !isOpen && "hidden")}>
        <Button onClick={copyLink} icon={<Link2 aria-hidden className="size-3.5" />}>
          {t`Copy link`}
        </Button>
        <CopyButton
          text={async () => jsonOf((await fetchWholeTrace(traceId)).map(maskedSpan), 2)}
          label={t`Copy JSON`}
          withText
        />
        <CopyButton text={() => markdownOf(traceId, forest, link)} label={t`Copy Markdown`} withText />
        <ExportTrace traceId={traceId} />
        <Link className={BUTTON_LINK} to="/logs/{-$logId}" params={{ logId: undefined }} search={{ trace: traceId }}>
          <FileText aria-hidden className="size-3.5" />
          {t`Logs of this trace`}
        </Link>
        <Button onClick={onCompare} icon={<GitCompare aria-hidden className="size-3.5" />}>
          {t`Compare with…`}
        </Button>
        <Replay traceId={traceId} spanCount={forest.spanCount} />
      </div>
    </div>
  );
}

/** Says why the trace failed: shows the span that failed first, with its error. */
function FirstFailure({
  node,
  onSelect,
}: {
  readonly node: SpanNode | undefined;
  readonly onSelect: (spanId: string) => void;
}) {
  if (node === undefined) return null;
  const reason = node.span?.status_description;
  return (
    <p className="flex min-w-0 items-baseline gap-1.5 text-[12px]">
      <span className="shrink-0 text-ink-3">{t`First error`}</span>
      <button
        type="button"
        className="min-h-6 shrink-0 font-mono text-accent hover:underline"
        onClick={() => onSelect(node.id)}
      >
        {node.name}
      </button>
      {reason !== undefined && (
        <span className="min-w-0 truncate text-danger" title={maskText(reason)}>
          {maskText(reason)}
        </span>
      )}
    </p>
  );
}

function millisOf(unixNano: string): number {
  return Number(BigInt(unixNano) / 1_000_000n);
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex gap-1.5">
      <dt className="text-ink-3">{name}</dt>
      <dd className="font-medium tabular-nums">{children}</dd>
    </div>
  );
}
