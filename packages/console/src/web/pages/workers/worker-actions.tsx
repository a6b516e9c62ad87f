import { Play, RotateCw, Square } from "lucide-react";
import { useEffect, useState } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
import { call } from "../../lib/api.ts";
import { useLiveState, useWorkers } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { type ConfiguredWorker, stateText, type WorkerRow } from "./worker-rows.ts";

/** What was asked for and has not come about by then is said to be late, in milliseconds. */
const LATE_MS = 60_000;

type Action = "start" | "stop" | "restart";

const WORDS: Readonly<Record<Action, { readonly button: string; readonly doing: string; readonly notYet: string; readonly what: string }>> = {
  start: { button: "Start", doing: "Starting", notYet: "is not connected", what: "Its processes are started." },
  stop: {
    button: "Stop",
    doing: "Stopping",
    notYet: "has not stopped",
    what: "All its processes are stopped, until it is started here or the engine is started again",
  },
  restart: { button: "Restart", doing: "Restarting", notYet: "is not connected again", what: "New processes replace all of its processes" },
};

interface Asked {
  readonly action: Action;
  /** Ids of the connections from before. */
  readonly before: ReadonlySet<string>;
  readonly readyBefore: string | null;
  /** The worker has been seen in another state than ready. */
  readonly hasBegun: boolean;
  readonly isLate: boolean;
}

/** What this engine runs it can start and stop, so only workers and commands of its config file. An action has ended when that is seen, not when the call was answered. */
export function WorkerActions({ row: { worker, configured } }: { readonly row: WorkerRow }) {
  if (worker?.kind === "module" || configured?.kind === "module") {
    return <p className="text-ink-3">A module of the engine: it starts and stops with it.</p>;
  }
  if (configured === undefined) {
    return <p className="text-ink-3">Not started by this engine: whoever started it can stop or restart it.</p>;
  }
  return <Actions configured={configured} callsInHand={worker?.active_invocations ?? 0} />;
}

function Actions({ configured, callsInHand }: { readonly configured: ConfiguredWorker; readonly callsInHand: number }) {
  const { name, state } = configured;
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const [confirming, setConfirming] = useState<"stop" | "restart">();
  const [asked, setAsked] = useState<Asked>();
  const [problem, setProblem] = useState<string>();
  const { workers } = useWorkers();
  const isDone = asked !== undefined && hasHappened(asked, configured, workers);
  useEffect(() => {
    if (asked === undefined || !isDone) return;
    toast(asked.action === "stop" ? `${name} is stopped` : configured.kind === "command" ? `${name} runs` : `${name} is connected again`);
    setAsked(undefined);
  }, [asked, isDone, name, configured.kind]);
  const failure = asked?.action === "restart" && asked.hasBegun && state === "ready" ? configured.problem : undefined;
  useEffect(() => {
    if (state !== "ready") setAsked((before) => (before === undefined || before.hasBegun ? before : { ...before, hasBegun: true }));
  }, [state]);
  useEffect(() => {
    if (failure == null) return;
    setAsked(undefined);
    setProblem(`${name} was not restarted: ${failure}; its former processes run on`);
  }, [failure, name]);
  const awaited = asked?.action;
  useEffect(() => {
    if (awaited === undefined) return;
    const timer = setTimeout(() => setAsked((before) => (before === undefined ? undefined : { ...before, isLate: true })), LATE_MS);
    return () => clearTimeout(timer);
  }, [awaited]);
  const perform = async (action: Action): Promise<void> => {
    setConfirming(undefined);
    setProblem(undefined);
    setAsked({ action, before: new Set(workers.map(({ id }) => id)), readyBefore: configured.ready_at, hasBegun: false, isLate: false });
    try {
      await call(`worker::${action}`, { name });
    } catch (error) {
      setAsked(undefined);
      setProblem(`worker::${action} failed: ${(error as Error).message}`);
    }
  };
  const button = (action: Action, icon: React.ReactNode) => (
    <Button
      icon={icon}
      isPending={asked?.action === action && !asked.isLate}
      disabledReason={refusal}
      onClick={() => (action === "start" ? void perform(action) : setConfirming(action))}
    >
      {WORDS[action].button}
    </Button>
  );
  return (
    <div className="flex flex-wrap items-center gap-3">
      {button("restart", <RotateCw aria-hidden className="size-3.5" />)}
      {state === "stopped" || state === "failed" || asked?.action === "start"
        ? button("start", <Play aria-hidden className="size-3.5" />)
        : button("stop", <Square aria-hidden className="size-3.5" />)}
      {asked !== undefined && (
        <span role="status" className={asked.isLate ? "text-warn" : "text-ink-2"}>
          {asked.isLate ? `${name} ${WORDS[asked.action].notYet} after a minute: ${stateText(state)}` : `${WORDS[asked.action].doing}: ${stateText(state)}`}
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
          title={`${WORDS[action].button} ${name}?`}
          description={
            <>
              {WORDS[action].what}
              {callsInHand > 0 && `; it has ${callsInHand} calls in hand, which are given time to end`}.
            </>
          }
          action={`${WORDS[action].button} ${name}`}
          refusal={refusal}
          onConfirm={() => void perform(action)}
        />
      ))}
    </div>
  );
}

/** A worker is back when it is ready and a new connection of it is seen; a command, which never connects, when it has become ready anew. */
function hasHappened(
  { action, before, readyBefore }: Asked,
  { name, kind, state, ready_at }: ConfiguredWorker,
  workers: readonly { readonly id: string; readonly configured_worker: string | null }[],
): boolean {
  if (action === "stop") return state === "stopped";
  if (kind === "command") return state === "ready" && ready_at !== readyBefore;
  return state === "ready" && workers.some(({ id, configured_worker }) => configured_worker === name && !before.has(id));
}
