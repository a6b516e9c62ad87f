import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useWriteRefusal } from "../../../app/use-hello.tsx";
import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import { mayHoldMask } from "../../../lib/mask-problem.ts";
import { bytes } from "../../../lib/time.ts";
import { useLiveState } from "../../../lib/use-live.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../../ui/data-region.tsx";
import { JsonView } from "../../../ui/json-view.tsx";
import { Duration, Timestamp } from "../../../ui/time.tsx";
import { invocations, useInvokeSession } from "../invoke/invoke-store.ts";
import { Failure } from "../invoke/run-result.tsx";
import { statusLabel } from "../model.ts";
import { Compare } from "./compare.tsx";
import { INVOCATION_TONES, type InvocationDetail, type Preview, useInvocation } from "./use-history.ts";

/** One invocation with its input and output, and buttons that replay it. */
export function InvocationPane(props: {
  readonly invocationId: string;
  readonly functionId: string;
  /** Id of the call that this one replayed. If it is given, the comparison of both calls is open at first. */
  readonly originalId: string | undefined;
  readonly previousId: string | undefined;
  /** Called after the input is loaded into the editor. */
  readonly onEdit: () => void;
}) {
  const found = useInvocation(props.invocationId);
  return (
    <DataRegion
      loading={found.data === undefined}
      error={found.error}
      retry={() => void found.refetch()}
      empty={found.data === null}
      emptyState={
        <EmptyState title={t`Invocation not found`}>
          {t`It may have been evicted, or belongs to an earlier run of the engine.`}
        </EmptyState>
      }
    >
      {found.data != null && <Facts {...props} invocation={found.data} />}
    </DataRegion>
  );
}

function Facts({
  invocation,
  functionId,
  originalId,
  previousId,
  onEdit,
}: {
  readonly invocation: InvocationDetail;
  readonly functionId: string;
  readonly originalId: string | undefined;
  readonly previousId: string | undefined;
  readonly onEdit: () => void;
}) {
  const [isComparing, setComparing] = useState(originalId !== undefined);
  const otherId = originalId ?? previousId;
  const { error, input, output } = invocation;
  return (
    <div className="flex flex-col gap-3 p-3">
      <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1 [&>dt]:text-ink-2">
        <dt>{t`Status`}</dt>
        <dd>
          <Badge tone={INVOCATION_TONES[invocation.status]}>{statusLabel(invocation.status)}</Badge>
        </dd>
        <dt>{t`Started`}</dt>
        <dd>
          <Timestamp ms={invocation.started_at_ms} as="date" />
          {invocation.duration_ms !== null && rich`, took ${<Duration ms={invocation.duration_ms} />}`}
        </dd>
        <dt>{t`Source`}</dt>
        <dd>
          {invocation.source}
          {invocation.caller !== null && (
            <>
              {t` by`}{" "}
              <Link
                to="/workers/{-$workerId}"
                params={{ workerId: invocation.caller.worker_id }}
                className="text-accent underline"
              >
                {invocation.caller.name}
              </Link>
            </>
          )}
        </dd>
        {invocation.worker !== null && (
          <>
            <dt>{t`Worker`}</dt>
            <dd>
              <Link
                to="/workers/{-$workerId}"
                params={{ workerId: invocation.worker.id }}
                className="text-accent underline"
              >
                {invocation.worker.name}
              </Link>
            </dd>
          </>
        )}
        {originalId !== undefined && (
          <>
            <dt>{t`Replay of`}</dt>
            <dd>
              <Link
                to="/functions/{-$functionId}"
                params={{ functionId }}
                search={(before: object) => ({ ...before, tab: "history", inv: originalId, original: undefined })}
                className="break-all font-mono text-[12px] text-accent underline"
              >
                {originalId}
              </Link>
            </dd>
          </>
        )}
        {invocation.trace_id !== null && (
          <>
            <dt>{t`Trace`}</dt>
            <dd>
              <Link
                to="/traces/{-$traceId}/{-$spanId}"
                params={{ traceId: invocation.trace_id, spanId: invocation.span_id ?? undefined }}
                search={{ view: "waterfall" }}
                className="break-all font-mono text-[12px] text-accent underline"
              >
                {invocation.trace_id}
              </Link>
            </dd>
          </>
        )}
      </dl>
      <ReplayActions
        functionId={functionId}
        invocationId={invocation.invocation_id}
        input={input}
        onEdit={onEdit}
        compareWith={originalId === undefined ? "previous" : "original"}
        onCompare={otherId === undefined ? undefined : () => setComparing(!isComparing)}
        isComparing={isComparing}
      />
      {isComparing && otherId !== undefined && (
        <Compare
          invocation={invocation}
          otherId={otherId}
          otherName={originalId === undefined ? t`Previous call` : t`Original call`}
        />
      )}
      {error != null && (
        <Failure
          failure={{ code: error.code, message: error.message, details: error.details, stack: error.stacktrace }}
        />
      )}
      <Payload title={t`Input`} preview={input} size={invocation.input_bytes} />
      {error == null && <Payload title={t`Output`} preview={output} size={invocation.output_bytes} />}
    </div>
  );
}

/**
 * Buttons that replay the call, with or without changes to its input. If only a part of the input was stored, the call
 * cannot be replayed.
 */
function ReplayActions({
  functionId,
  invocationId,
  input,
  onEdit,
  compareWith,
  onCompare,
  isComparing,
}: {
  readonly functionId: string;
  readonly invocationId: string;
  readonly input: Preview | null;
  readonly onEdit: () => void;
  readonly compareWith: "previous" | "original";
  readonly onCompare: (() => void) | undefined;
  readonly isComparing: boolean;
}) {
  const { phase } = useLiveState();
  const { run } = useInvokeSession(functionId);
  const refusal = useWriteRefusal(phase);
  const problem =
    input === null
      ? t`The input was not stored`
      : input.truncated
        ? t`Only a part of the input was stored`
        : /"\[REDACTED\]"/i.test(input.json) || mayHoldMask(input.json)
          ? REDACTED
          : undefined;
  const loadIntoEditor = (): void => invocations.load(functionId, input?.json ?? "", invocationId);
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        disabledReason={refusal ?? problem}
        isPending={run?.state === "running"}
        onClick={() => {
          loadIntoEditor();
          void invocations.run(functionId);
          onEdit();
        }}
      >
        {t`Replay`}
      </Button>
      <Button
        disabledReason={problem === REDACTED ? undefined : problem}
        onClick={() => {
          loadIntoEditor();
          onEdit();
        }}
      >
        {t`Edit & replay`}
      </Button>
      <Button
        onClick={onCompare}
        aria-pressed={isComparing}
        disabledReason={onCompare === undefined ? t`The list has no previous call` : undefined}
      >
        {t`Compare with ${compareWith}`}
      </Button>
    </div>
  );
}

const REDACTED = t`Secrets in the input were not stored; use Edit & replay to enter them`;

function Payload({
  title,
  preview,
  size,
}: {
  readonly title: string;
  readonly preview: Preview | null;
  readonly size: number | null;
}) {
  return (
    <div>
      <h4 className="pb-1 font-medium text-ink-2">{title}</h4>
      {preview === null ? (
        <p className="text-ink-3">{t`None`}</p>
      ) : (
        <>
          {preview.truncated && (
            <p className="pb-1 text-warn">
              {size === null
                ? t`Only the beginning was stored. The payload preview settings of svc-observability set the limit.`
                : t`Only the beginning of ${bytes(size)} was stored. The payload preview settings of svc-observability set the limit.`}
            </p>
          )}
          <JsonView text={preview.json} name={title.toLowerCase()} />
        </>
      )}
    </div>
  );
}
