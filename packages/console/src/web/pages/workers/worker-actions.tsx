import { Play, RotateCw, Square } from "lucide-react";
import { useEffect, useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
import { call } from "../../lib/api.ts";
import { useLiveState, useWorkers } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { type ConfiguredWorker, stateText, type WorkerRow } from "./worker-rows.ts";

/** An action that takes longer than this is reported as late, in milliseconds. */
const LATE_MS = 60_000;

type Action = "start" | "stop" | "restart";

const TEXTS: Readonly<Record<Action, { readonly button: string; readonly running: string; readonly late: string }>> = {
  start: { button: t`Start`, running: t`Starting`, late: t`is not connected` },
  stop: { button: t`Stop`, running: t`Stopping`, late: t`has not stopped` },
  restart: { button: t`Restart`, running: t`Restarting`, late: t`is not connected again` },
};
const EFFECTS = {
  restart: t`New processes replace all of its processes`,
  stop: t`All its processes stop until it is started here or the engine restarts`,
} as const;

interface PendingAction {
  readonly action: Action;
  /** Ids of the connections that existed before the action. */
  readonly idsBefore: ReadonlySet<string>;
  readonly readyAtBefore: string | null;
  /** True if the worker was in another state than `ready` since the action. */
  readonly hasLeftReady: boolean;
  readonly isLate: boolean;
}

/**
 * Buttons that start, stop and restart workers and commands of the config file. These are the only ones that the engine
 * runs. An action is done when the state of the worker shows it, which may be later than the result of the call.
 */
export function WorkerActions({ row: { worker, configured } }: { readonly row: WorkerRow }) {
  if (worker?.kind === "module" || configured?.kind === "module") {
    return <p className="text-ink-3">{t`A module of the engine: it starts and stops with the engine.`}</p>;
  }
  if (configured === undefined) {
    return <p className="text-ink-3">{t`Not started by this engine: stop or restart it where it was started.`}</p>;
  }
  return <Actions configured={configured} callsInFlight={worker?.active_invocations ?? 0} />;
}

function Actions({
  configured,
  callsInFlight,
}: {
  readonly configured: ConfiguredWorker;
  readonly callsInFlight: number;
}) {
  const { name, state } = configured;
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const [confirming, setConfirming] = useState<"stop" | "restart">();
  const [pending, setPending] = useState<PendingAction>();
  const [problem, setProblem] = useState<string>();
  const { workers } = useWorkers();
  const isDone = pending !== undefined && isActionDone(pending, configured, workers);
  useEffect(() => {
    if (pending === undefined || !isDone) return;
    toast(
      pending.action === "stop"
        ? t`${name} is stopped`
        : configured.kind === "command"
          ? t`${name} runs`
          : t`${name} is connected again`,
    );
    setPending(undefined);
  }, [pending, isDone, name, configured.kind]);
  const failure =
    pending?.action === "restart" && pending.hasLeftReady && state === "ready" ? configured.problem : undefined;
  useEffect(() => {
    if (state !== "ready")
      setPending((before) =>
        before === undefined || before.hasLeftReady ? before : { ...before, hasLeftReady: true },
      );
  }, [state]);
  useEffect(() => {
    if (failure == null) return;
    setPending(undefined);
    setProblem(t`${name} was not restarted: ${failure}; its old processes keep running`);
  }, [failure, name]);
  const pendingAction = pending?.action;
  useEffect(() => {
    if (pendingAction === undefined) return;
    const timer = setTimeout(
      () => setPending((before) => (before === undefined ? undefined : { ...before, isLate: true })),
      LATE_MS,
    );
    return () => clearTimeout(timer);
  }, [pendingAction]);
  const perform = async (action: Action): Promise<void> => {
    setConfirming(undefined);
    setProblem(undefined);
    setPending({
      action,
      idsBefore: new Set(workers.map(({ id }) => id)),
      readyAtBefore: configured.ready_at,
      hasLeftReady: false,
      isLate: false,
    });
    try {
      await call(`worker::${action}`, { name });
    } catch (error) {
      setPending(undefined);
      setProblem(t`worker::${action} failed: ${(error as Error).message}`);
    }
  };
  const button = (action: Action, icon: React.ReactNode) => (
    <Button
      icon={icon}
      isPending={pending?.action === action && !pending.isLate}
      disabledReason={refusal}
      onClick={() => (action === "start" ? void perform(action) : setConfirming(action))}
    >
      {TEXTS[action].button}
    </Button>
  );
  return (
    <div className="flex flex-wrap items-center gap-3">
      {button("restart", <RotateCw aria-hidden className="size-3.5" />)}
      {state === "stopped" || state === "failed" || pending?.action === "start"
        ? button("start", <Play aria-hidden className="size-3.5" />)
        : button("stop", <Square aria-hidden className="size-3.5" />)}
      {pending !== undefined && (
        <span role="status" className={pending.isLate ? "text-warn" : "text-ink-2"}>
          {pending.isLate
            ? t`${name} ${TEXTS[pending.action].late} after a minute (${stateText(state)})`
            : `${TEXTS[pending.action].running} (${stateText(state)})`}
        </span>
      )}
      {problem !== undefined && (
        <span role="alert" className="text-danger">
          {problem}
        </span>
      )}
      {(["restart", "stop"] as const).map((action) => (
        <ConfirmDialog
          key={action}
          open={confirming === action}
          onClose={() => setConfirming(undefined)}
          title={`${TEXTS[action].button} ${name}?`}
          description={
            callsInFlight > 0
              ? t`${EFFECTS[action]}; its ${callsInFlight} calls in flight get time to finish.`
              : `${EFFECTS[action]}.`
          }
          action={`${TEXTS[action].button} ${name}`}
          refusal={refusal}
          onConfirm={() => void perform(action)}
        />
      ))}
    </div>
  );
}

/**
 * Returns true if the action is done. A worker is started when it is ready and has a new connection. A command has no
 * connection, so it is started when it is ready again.
 */
function isActionDone(
  { action, idsBefore, readyAtBefore }: PendingAction,
  { name, kind, state, ready_at }: ConfiguredWorker,
  workers: readonly { readonly id: string; readonly configured_worker: string | null }[],
): boolean {
  if (action === "stop") return state === "stopped";
  if (kind === "command") return state === "ready" && ready_at !== readyAtBefore;
  return (
    state === "ready" && workers.some(({ id, configured_worker }) => configured_worker === name && !idsBefore.has(id))
  );
}
