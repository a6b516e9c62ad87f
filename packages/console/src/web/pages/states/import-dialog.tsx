import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { plural, t } from "../../labels/translate.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ImportReport } from "./import-report.tsx";
import { type ImportPlan, readLines } from "./ndjson.ts";
import { planImport, runImport } from "./state-api.ts";
import { useRefresh } from "./use-states.ts";

/** Imports an NDJSON file. Before it stores items, it shows a report of the changes. */
export function ImportDialog({ onClose }: { readonly onClose: () => void }) {
  const { phase, skewMs } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const refresh = useRefresh();
  const [plan, setPlan] = useState<ImportPlan | undefined>();
  const [overwrites, setOverwrites] = useState(false);
  const [status, setStatus] = useState<"idle" | "reading" | "storing" | "done">("idle");
  const [stored, setStored] = useState(0);
  const [failure, setFailure] = useState<string | undefined>();
  const wanted = plan?.planned.filter(({ effect }) => effect === "new" || (overwrites && effect === "changed")) ?? [];

  const read = async (file: File): Promise<void> => {
    setStatus("reading");
    setFailure(undefined);
    setStored(0);
    try {
      const { lines, bad } = readLines(await file.text());
      setPlan({ file: file.name, planned: await planImport(lines, Date.now() + skewMs), bad });
    } catch (thrown) {
      setFailure((thrown as Error).message);
    }
    setStatus("idle");
  };
  const store = async (): Promise<void> => {
    setStatus("storing");
    setFailure(undefined);
    try {
      await runImport(wanted, Date.now() + skewMs, setStored);
      setStatus("done");
    } catch (thrown) {
      setFailure(
        t`${(thrown as Error).message} Items stored before the failure stay stored; choose the file again for a new report.`,
      );
      setPlan(undefined);
      setStatus("idle");
    }
    await refresh();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={t`Import items`}
      description={t`A file of JSON lines (NDJSON) as written by Export and state::export. A report shows the changes before anything is stored.`}
      footer={
        status === "done" ? (
          <Button onClick={onClose}>{t`Close`}</Button>
        ) : (
          <>
            <Button onClick={onClose}>{t`Cancel`}</Button>
            <Button
              look="primary"
              disabledReason={refusal}
              disabled={plan === undefined || plan.bad.length > 0 || wanted.length === 0}
              isPending={status === "storing"}
              onClick={() => void store()}
            >
              {plural(wanted.length, "Store 1 item", "Store # items")}
            </Button>
          </>
        )
      }
    >
      <div className="flex flex-col gap-3">
        <label className="flex flex-col gap-1">
          {t`File`}
          <input
            type="file"
            accept=".ndjson,.jsonl,.json,.txt"
            disabled={status === "storing"}
            onChange={(event) => {
              const file = event.target.files?.[0];
              if (file !== undefined) void read(file);
            }}
            className="rounded-md border border-line-strong/60 bg-surface p-1.5 file:mr-2 file:rounded file:border-0 file:bg-raised file:px-2 file:py-1 file:text-ink"
          />
        </label>
        {status === "reading" && <p role="status">{t`Comparing with the stored items …`}</p>}
        {plan !== undefined && <ImportReport plan={plan} overwrites={overwrites} onOverwrites={setOverwrites} />}
        {(status === "storing" || status === "done") && (
          <p role="status" className={status === "done" ? "text-ok" : undefined}>
            {t`${stored} of ${wanted.length} stored${status === "done" ? "." : " …"}`}
          </p>
        )}
        {failure !== undefined && (
          <p role="alert" className="text-danger">
            {failure}
          </p>
        )}
      </div>
    </Dialog>
  );
}
