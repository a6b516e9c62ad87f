import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { ItemValue } from "./item-value.tsx";
import type { Entry } from "./model.ts";
import { restoreItems } from "./state-api.ts";

/** Shows the last value of an item that was deleted while it was open, with a button that restores it. */
export function DeletedItem({
  group,
  last,
  onRestored,
}: {
  readonly group: string;
  readonly last: Entry;
  readonly onRestored: () => Promise<void>;
}) {
  const { phase, skewMs } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const [isPending, setPending] = useState(false);
  const [problem, setProblem] = useState<string | undefined>();
  const restore = async (): Promise<void> => {
    setPending(true);
    try {
      await restoreItems(group, [last], Date.now() + skewMs);
      await onRestored();
    } catch (thrown) {
      setProblem((thrown as Error).message);
    }
    setPending(false);
  };
  return (
    <>
      <div
        role="status"
        className="flex flex-wrap items-center gap-2 border-line border-b bg-warn-soft px-3 py-1.5 text-warn"
      >
        <span className="flex-1">{t`This item was deleted. Below is its last value, version ${String(last.version)}.`}</span>
        <Button disabledReason={refusal} isPending={isPending} onClick={() => void restore()}>
          {t`Restore`}
        </Button>
      </div>
      {problem !== undefined && (
        <p role="alert" className="px-3 py-1.5 text-danger">
          {problem}
        </p>
      )}
      <ItemValue entry={last} />
    </>
  );
}
