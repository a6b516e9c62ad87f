import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleCheck, CircleSlash, LoaderCircle } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import { Badge, type Tone } from "../../../ui/badge.tsx";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { JsonView } from "../../../ui/json-view.tsx";
import { ScrollArea } from "../../../ui/scroll-area.tsx";
import { Duration, Timestamp, useNow } from "../../../ui/time.tsx";
import { CallLogs } from "./call-logs.tsx";
import type { Run } from "./invoke-store.ts";
import { type CallFailure, type Outcome, outcomeOf } from "./outcome.ts";

const OUTCOMES: Readonly<Record<Outcome["kind"], { readonly tone: Tone; readonly icon: typeof CircleCheck }>> = {
  running: { tone: "info", icon: LoaderCircle },
  ok: { tone: "ok", icon: CircleCheck },
  accepted: { tone: "ok", icon: CircleCheck },
  enqueued: { tone: "ok", icon: CircleCheck },
  error: { tone: "danger", icon: CircleAlert },
  unreachable: { tone: "danger", icon: CircleAlert },
  cancelled: { tone: "neutral", icon: CircleSlash },
};

/** Result of the last call of this function from this page. */
export function RunResult({ functionId, run }: { readonly functionId: string; readonly run: Run }) {
  const outcome = useMemo(() => outcomeOf(run), [run]);
  const { tone, icon: Icon } = OUTCOMES[outcome.kind];
  const { answer } = run;
  return (
    <section aria-label={t`Result`} className="flex flex-col gap-2 border-line border-t pt-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="font-medium">{t`Result`}</h3>
        <span role="status">
          <Badge
            tone={tone}
            icon={<Icon aria-hidden className={outcome.kind === "running" ? "size-3 animate-spin" : "size-3"} />}
          >
            {outcome.title}
          </Badge>
        </span>
        {answer !== undefined && <span className="font-mono text-[12px] text-ink-2">{t`HTTP ${answer.status}`}</span>}
        {run.durationMs === undefined ? (
          <Elapsed sinceMs={run.startedAtMs} />
        ) : (
          <Duration ms={run.durationMs} className="tabular-nums" />
        )}
        <span className="text-ink-3">{rich`at ${<Timestamp ms={run.startedAtMs} withMs={false} />}`}</span>
      </div>
      {outcome.kind === "accepted" && (
        <p className="text-ink-2">
          {t`The call was sent without waiting for its result. Its outcome appears in the history.`}
        </p>
      )}
      {outcome.kind === "cancelled" && (
        <p className="text-ink-2">{t`The handler received an abort signal, but may already have had side effects.`}</p>
      )}
      {outcome.kind === "enqueued" && <JobLink text={outcome.result ?? ""} queue={run.draft.queue} />}
      {outcome.error !== undefined && <Failure failure={outcome.error} />}
      {outcome.result !== undefined && <JsonView text={outcome.result} name={t`the result`} openTo={3} />}
      {run.replayOf !== undefined && (
        <p className="flex flex-wrap gap-x-4 gap-y-1 text-ink-2">
          <span>
            {t`Replay of`}{" "}
            <HistoryLink {...{ functionId }} inv={run.replayOf}>
              <code className="break-all">{run.replayOf}</code>
            </HistoryLink>
          </span>
          {answer?.invocationId != null && (
            <HistoryLink {...{ functionId }} inv={answer.invocationId} original={run.replayOf}>
              {t`Compare the two`}
            </HistoryLink>
          )}
        </p>
      )}
      {answer?.traceId != null && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
          <Link
            to="/traces/{-$traceId}/{-$spanId}"
            params={{ traceId: answer.traceId, spanId: "root" }}
            search={{ view: "waterfall" }}
            className="text-accent underline"
          >
            {t`Trace`}
          </Link>
          <Link
            to="/logs/{-$logId}"
            params={{ logId: undefined }}
            search={{ trace: answer.traceId }}
            className="text-accent underline"
          >
            {t`All logs of the trace`}
          </Link>
          {answer.invocationId !== null && (
            <HistoryLink {...{ functionId }} inv={answer.invocationId}>
              {t`Show in history`}
            </HistoryLink>
          )}
          <span className="inline-flex items-center gap-1 font-mono text-[11px] text-ink-3">
            {answer.traceId.slice(0, 8)}…{" "}
            <CopyButton text={answer.traceId} label={t`Copy the trace ID`} className="h-6 w-6" />
          </span>
        </div>
      )}
      {answer?.traceId != null && run.state === "answered" && <CallLogs traceId={answer.traceId} />}
    </section>
  );
}

function HistoryLink({
  functionId,
  inv,
  original,
  children,
}: {
  readonly functionId: string;
  readonly inv: string;
  readonly original?: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <Link
      to="/functions/{-$functionId}"
      params={{ functionId }}
      search={(before: object) => ({ ...before, tab: "history", inv, original })}
      className="text-accent underline"
    >
      {children}
    </Link>
  );
}

function Elapsed({ sinceMs }: { readonly sinceMs: number }) {
  const now = useNow();
  return <span className="text-ink-2 tabular-nums">{Math.max(0, Math.round((now - sinceMs) / 1000))} s</span>;
}

function JobLink({ text, queue }: { readonly text: string; readonly queue: string }) {
  let id: unknown;
  try {
    ({ messageReceiptId: id } = JSON.parse(text) as { readonly messageReceiptId?: unknown });
  } catch {
    id = undefined;
  }
  return (
    <p className="text-ink-2">
      {t`Enqueued on`}{" "}
      <Link to="/queues/{-$topic}" params={{ topic: queue }} className="text-accent underline">
        {queue}
      </Link>
      {typeof id === "string" && rich` as job ${<code>{id}</code>}`}
    </p>
  );
}

export function Failure({ failure }: { readonly failure: CallFailure }) {
  const { stacktrace: _trace, stack: _stack, ...details } = failure.details ?? {};
  return (
    <div role="alert" className="flex flex-col gap-2 rounded-md border border-danger/40 bg-danger-soft p-3">
      <p className="break-words">
        <code className="font-medium text-danger">{failure.code}</code>{" "}
        <span className="whitespace-pre-wrap">{failure.message}</span>
      </p>
      {failure.stack !== undefined && (
        <details open>
          <summary className="cursor-pointer text-ink-2">{t`Stack`}</summary>
          <ScrollArea label={t`Stack of the failure`} className="mt-1 max-h-64">
            <pre className="whitespace-pre-wrap break-words">{failure.stack}</pre>
          </ScrollArea>
        </details>
      )}
      {Object.keys(details).length > 0 && <JsonView text={JSON.stringify(details)} name={t`the details`} />}
    </div>
  );
}
