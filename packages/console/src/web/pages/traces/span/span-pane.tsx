import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { t } from "../../../labels/translate.ts";
import { call } from "../../../lib/api.ts";
import type { SpanNode, TraceForest } from "../../../model/span-forest.ts";
import type { LeanSpan, StoredSpan } from "../../../model/trace-types.ts";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { DataRegion, EmptyState } from "../../../ui/data-region.tsx";
import { RevealArea, useReveal } from "../../../ui/reveal-secrets.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { holdsSecrets, jsonOf, maskedSpan } from "../model/masked-span.ts";
import { spanMarkdown } from "../model/trace-text.ts";
import { BaggageTab, LinksTab } from "./context-tabs.tsx";
import { ErrorsTab, errorsOf } from "./errors-tab.tsx";
import { InfoTab } from "./info-tab.tsx";
import { LogsTab } from "./logs-tab.tsx";
import { TagsTab } from "./tags-tab.tsx";

interface SpanPaneProps {
  readonly node: SpanNode;
  readonly forest: TraceForest;
  readonly nowMs: number;
  readonly tab: string | undefined;
  readonly onTab: (tab: string) => void;
}

/** All data of one span. It is loaded here, because the trace itself loads only lean spans. */
export default function SpanPane({
  traceId,
  lean,
  ...rest
}: SpanPaneProps & { readonly traceId: string; readonly lean: LeanSpan }) {
  const { span, error, retry } = useSpan(traceId, lean);
  return (
    <DataRegion
      loading={span === undefined}
      error={error}
      retry={retry}
      empty={span === null}
      emptyState={<EmptyState title={t`Span not found`}>{t`It was evicted for newer spans.`}</EmptyState>}
    >
      {span !== undefined && span !== null && <WholeSpan {...rest} span={span} />}
    </DataRegion>
  );
}

/**
 * Fetches a span with all its data. The result is null if the span was evicted. It is fetched again when the lean span
 * changes.
 */
function useSpan(traceId: string, { span_id, end_time_unix_nano_text, status, events }: LeanSpan) {
  const { data, error, refetch } = useQuery({
    queryKey: ["span", traceId, span_id, end_time_unix_nano_text, status, events.length],
    queryFn: ({ signal }) =>
      call<StoredSpan | null>("engine::traces::get_span", { trace_id: traceId, span_id }, { signal }),
    // While the span is loaded again, its previous data is shown.
    placeholderData: (before) => (before?.span_id === span_id ? before : undefined),
  });
  return { span: data, error, retry: () => void refetch() };
}

function WholeSpan({ node, span, forest, nowMs, tab, onTab }: SpanPaneProps & { readonly span: StoredSpan }) {
  const errors = errorsOf(span);
  const hasSecrets = useMemo(() => holdsSecrets(span), [span]);
  const { isRevealed, button } = useReveal(hasSecrets);
  const copied = (): StoredSpan => (isRevealed ? span : maskedSpan(span));
  const tabs = [
    { value: "info", label: t`Info`, content: <InfoTab node={node} span={span} forest={forest} nowMs={nowMs} /> },
    {
      value: "tags",
      label: t`Tags`,
      count: span.attributes.length,
      content: <TagsTab key={span.span_id} span={span} />,
    },
    { value: "logs", label: t`Logs`, content: <LogsTab span={span} forest={forest} /> },
    { value: "errors", label: t`Errors`, count: errors.length, content: <ErrorsTab errors={errors} /> },
    {
      value: "baggage",
      label: t`Baggage`,
      count: Object.keys(span.baggage).length,
      content: <BaggageTab baggage={span.baggage} />,
    },
    ...(span.links.length === 0
      ? []
      : [{ value: "links", label: t`Links`, count: span.links.length, content: <LinksTab links={span.links} /> }]),
  ];
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap gap-1.5 px-3 py-2">
        <CopyButton text={() => jsonOf(copied(), 2)} label={t`Copy JSON`} withText />
        <CopyButton text={() => spanMarkdown(copied())} label={t`Copy Markdown`} withText />
        {button}
      </div>
      <RevealArea isRevealed={isRevealed}>
        <Tabs
          label={t`Span`}
          tabs={tabs}
          value={tabs.some(({ value }) => value === tab) ? (tab ?? "info") : "info"}
          onChange={onTab}
        />
      </RevealArea>
    </div>
  );
}
