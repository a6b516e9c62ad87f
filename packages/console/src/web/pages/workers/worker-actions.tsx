import { RotateCw } from "lucide-react";
import { useEffect, useState } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
import { call } from "../../lib/api.ts";
import { useLiveState, useWorkers } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import type { WorkerRow } from "./worker-rows.ts";

/** A restarted worker that is not back by then is said to be late, in milliseconds. */
const LATE_MS = 60_000;

interface Restart {
  readonly name: string;
  /** Ids of the connections from before. */
  readonly before: ReadonlySet<string>;
  readonly isLate: boolean;
}

/** Restarting is the engine's to do, so only for workers of its config file. It has ended when a new connection is seen, not when the call was answered. */
export function WorkerActions({ row: { worker, configured } }: { readonly row: WorkerRow }) {
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const { workers } = useWorkers();
  const [isAsking, setAsking] = useState(false);
  const [restart, setRestart] = useState<Restart>();
  const [problem, setProblem] = useState<string>();
  const isBack = restart !== undefined && workers.some(({ id, configured_worker }) => configured_worker === restart.name && !restart.before.has(id));
  useEffect(() => {
    if (restart === undefined || !isBack) return;
    toast(`${restart.name} is connected again`);
    setRestart(undefined);
  }, [restart, isBack]);
  const waitsFor = restart?.name;
  useEffect(() => {
    if (waitsFor === undefined) return;
    const timer = setTimeout(() => setRestart((before) => (before === undefined ? undefined : { ...before, isLate: true })), LATE_MS);
    return () => clearTimeout(timer);
  }, [waitsFor]);
  if (worker?.kind === "module" || configured?.kind === "module") {
    return <p className="text-ink-3">A module of the engine: it starts and stops with it.</p>;
  }
  if (configured === undefined) {
    return <p className="text-ink-3">Not started by this engine: whoever started it can stop or restart it.</p>;
  }
  const { name } = configured;
  const start = async (): Promise<void> => {
    setAsking(false);
    setProblem(undefined);
    setRestart({ name, before: new Set(workers.map(({ id }) => id)), isLate: false });
    try {
      await call("worker::restart", { name });
    } catch (error) {
      setRestart(undefined);
      setProblem(`worker::restart failed: ${(error as Error).message}`);
    }
  };
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button
        icon={<RotateCw aria-hidden className="size-3.5" />}
        isPending={restart !== undefined && !restart.isLate}
        disabledReason={refusal}
        onClick={() => setAsking(true)}
      >
        Restart
      </Button>
      {restart !== undefined && (
        <span role="status" className={restart.isLate ? "text-warn" : "text-ink-2"}>
          {restart.isLate
            ? `${name} is not connected again after a minute: ${configured.state.replace("_", " ")}`
            : `Restarting: ${configured.state.replace("_", " ")}`}
        </span>
      )}
      {problem !== undefined && (
        <span role="alert" className="text-danger">
          {problem}
        </span>
      )}
      <ConfirmDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        title={`Restart ${name}?`}
        description={
          <>
            All its processes are stopped and started anew
            {worker !== undefined && worker.active_invocations > 0 && `; it has ${worker.active_invocations} calls in hand, which are given time to end`}.
          </>
        }
        action={`Restart ${name}`}
        refusal={refusal}
        onConfirm={() => void start()}
      />
    </div>
  );
}
