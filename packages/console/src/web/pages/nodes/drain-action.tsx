import type { NodeListing } from "@svc-runtime/protocol/listings";
import { Play, Unplug } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
import { call } from "../../lib/api.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";

interface DrainActionProps {
  readonly node: NodeListing;
  /** Loads the page's data again. */
  readonly onDone: () => Promise<unknown>;
  readonly onProblem: (problem: string | undefined) => void;
}

/** Button that drains an engine, or ends the drain of a drained engine. */
export function DrainAction({ node: { name, state, self }, onDone, onProblem }: DrainActionProps): ReactNode {
  const refusal = useWriteRefusal(useLiveState().phase);
  const [isAsking, setAsking] = useState(false);
  const [isPending, setPending] = useState(false);
  const run = async (functionId: string): Promise<void> => {
    setAsking(false);
    setPending(true);
    onProblem(undefined);
    try {
      await call(functionId, { node: name });
      await onDone();
    } catch (error) {
      onProblem((error as Error).message);
    } finally {
      setPending(false);
    }
  };
  if (state === "draining" || state === "drained")
    return (
      <Button
        icon={<Play aria-hidden className="size-3.5" />}
        disabledReason={refusal}
        isPending={isPending}
        onClick={() => void run("engine::nodes::undrain")}
      >
        {t`Undrain`}
      </Button>
    );
  if (state !== "up") return null;
  return (
    <>
      <Button
        icon={<Unplug aria-hidden className="size-3.5" />}
        disabledReason={refusal}
        isPending={isPending}
        onClick={() => setAsking(true)}
      >
        {t`Drain`}
      </Button>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        title={t`Drain engine ${name}?`}
        description={
          <>
            {t`Its workers and clients go to the other engines. It takes no new calls and jobs, and finishes those in flight; after 30 seconds they fail.`}{" "}
            {t`Workers that know no other engine, and those that it started, are disconnected until you undrain it or it restarts.`}
            {self && ` ${t`This console stays connected to it.`}`}
          </>
        }
        action={t`Drain`}
        refusal={refusal}
        onConfirm={() => void run("engine::nodes::drain")}
      />
    </>
  );
}
