import { Link } from "@tanstack/react-router";
import { Ellipsis, FileText, GitCompare, Link2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useCopyLink } from "../../../app/copy-link.ts";
import { duration } from "../../../lib/time.ts";
import type { TraceStatus } from "../../../model/trace-types.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { cn } from "../../../ui/cn.ts";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { useIsNarrow } from "../../../ui/split.tsx";
import { Timestamp } from "../../../ui/time.tsx";
import { TraceStatusBadge } from "../list/trace-columns.tsx";
import { jsonOf, maskedSpan } from "../model/masked-span.ts";
import type { TraceForest } from "../model/span-forest.ts";
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
}: {
  readonly traceId: string;
  readonly forest: TraceForest;
  readonly nowMs: number;
  readonly onCompare: () => void;
}) {
  const copyLink = useCopyLink();
  const isNarrow = useIsNarrow(640);
  const [isOpen, setOpen] = useState(false);
  const { root } = forest;
  const status: TraceStatus = forest.isPending ? "pending" : forest.errorCount > 0 ? "error" : "ok";
  const link = `${location.origin}/traces/${traceId}`;
  return (
    <div className="flex flex-col gap-2 border-line border-b bg-surface px-4 py-2">
      <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="min-w-0 truncate font-semibold text-[15px]" title={root?.name}>
          {root?.name ?? traceId}
        </h2>
        <TraceStatusBadge status={status} />
        {forest.orphanCount > 0 && (
          <Badge tone="warn" title="Some spans reference a parent that has not arrived or was dropped">
            Partial trace
          </Badge>
        )}
        <span className="flex min-w-0 items-center gap-1 font-mono text-[12px] text-ink-3">
          <span className="truncate">{traceId}</span>
          <CopyButton text={traceId} label="Copy the trace ID" className="size-6" />
        </span>
      </div>
      <dl className="flex flex-wrap gap-x-5 gap-y-0.5 text-[12px]">
        <Fact name="Duration">
          {duration(Math.max(forest.lengthMs, forest.isPending ? nowMs : 0))}
          {forest.isPending && " so far"}
        </Fact>
        <Fact name="Started">
          {root?.span !== undefined && <Timestamp ms={millisOf(root.span.start_time_unix_nano_text)} as="date" />}
        </Fact>
        <Fact name="Spans">{forest.spanCount}</Fact>
        <Fact name="Services">{forest.services.length}</Fact>
        <Fact name="Errors">{forest.errorCount}</Fact>
        <Fact name="Depth">{forest.depth}</Fact>
      </dl>
      {isNarrow && (
        <Button
          aria-expanded={isOpen}
          className="self-start"
          onClick={() => setOpen(!isOpen)}
          icon={<Ellipsis aria-hidden className="size-3.5" />}
        >
          Copy, export, compare
        </Button>
      )}
      <div className={cn("flex flex-wrap gap-1.5", isNarrow && !isOpen && "hidden")}>
        <Button onClick={copyLink} icon={<Link2 aria-hidden className="size-3.5" />}>
          Copy link
        </Button>
        <CopyButton
          text={async () => jsonOf((await fetchWholeTrace(traceId)).map(maskedSpan), 2)}
          label="Copy JSON"
          withText
        />
        <CopyButton text={() => markdownOf(traceId, forest, link)} label="Copy Markdown" withText />
        <ExportTrace traceId={traceId} />
        <Link className={BUTTON_LINK} to="/logs/{-$logId}" params={{ logId: undefined }} search={{ trace: traceId }}>
          <FileText aria-hidden className="size-3.5" />
          Logs of this trace
        </Link>
        <Button onClick={onCompare} icon={<GitCompare aria-hidden className="size-3.5" />}>
          Compare with…
        </Button>
        <Replay traceId={traceId} spanCount={forest.spanCount} />
      </div>
    </div>
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
