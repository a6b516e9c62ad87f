import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { t } from "../../labels/translate.ts";
import { useLiveCollection, useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { JsonEditor } from "../../ui/json-editor.tsx";
import { dataProblem } from "./model.ts";
import { enqueue } from "./queue-api.ts";
import { useAction } from "./use-queues.ts";

const INPUT = "h-8 rounded-md border border-line-strong/60 bg-surface px-2 font-mono text-[12px]";
const DELAY = /^\d{1,11}$/;

interface ListedFunction {
  readonly id: string;
  readonly internal: boolean;
}

/** Form that enqueues a job. */
export function EnqueueForm({ queue, onOpen }: { readonly queue: string; readonly onOpen: (jobId: string) => void }) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const functions = useLiveCollection<ListedFunction>("svc.functions", ({ id }) => id);
  const action = useAction();
  const [functionId, setFunctionId] = useState("");
  const [json, setJson] = useState("{}");
  const [delay, setDelay] = useState("");
  const [dedupeKey, setDedupeKey] = useState("");
  const [added, setAdded] = useState<{ readonly job_id: string; readonly duplicate: boolean } | undefined>();
  const problem = dataProblem(json);
  const isDelayWrong = delay !== "" && !DELAY.test(delay);
  const isReady = problem === undefined && !isDelayWrong && refusal === undefined;
  const send = async (): Promise<void> => {
    if (!isReady) return;
    setAdded(undefined);
    await action.run(async () =>
      setAdded(
        await enqueue({
          queue,
          functionId: functionId.trim(),
          json,
          delayMs: delay === "" ? undefined : Number(delay),
          dedupeKey,
        }),
      ),
    );
  };
  return (
    <form
      className="flex flex-col gap-3 p-3"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label className="flex flex-col gap-1">
        {t`Function`}
        <input
          list="queue-functions"
          value={functionId}
          spellCheck={false}
          onChange={(event) => setFunctionId(event.target.value)}
          className={INPUT}
        />
        <span className="text-[12px] text-ink-2">{t`If empty, the triggers of the queue handle the job.`}</span>
        <datalist id="queue-functions">
          {functions.items
            .filter(({ internal }) => !internal)
            .map(({ id }) => (
              <option key={id} value={id} />
            ))}
        </datalist>
      </label>
      <div className="flex flex-col gap-1">
        <span>{t`Data`}</span>
        <JsonEditor
          label={t`Data of the job`}
          value={json}
          onChange={setJson}
          onSubmit={() => void send()}
          className="h-40"
        />
        {problem !== undefined && <span className="text-danger">{problem}</span>}
      </div>
      <div className="flex flex-wrap gap-3">
        <label className="flex min-w-32 flex-1 flex-col gap-1">
          {t`Delay in ms`}
          <input
            inputMode="numeric"
            value={delay}
            onChange={(event) => setDelay(event.target.value)}
            className={INPUT}
          />
          {isDelayWrong && <span className="text-danger">{t`Must be a whole number of milliseconds`}</span>}
        </label>
        <label className="flex min-w-32 flex-1 flex-col gap-1">
          {t`Deduplication key`}
          <input
            value={dedupeKey}
            spellCheck={false}
            onChange={(event) => setDedupeKey(event.target.value)}
            className={INPUT}
          />
        </label>
      </div>
      <div className="flex flex-wrap items-center gap-3">
        <Button look="primary" type="submit" disabledReason={refusal} disabled={!isReady} isPending={action.isPending}>
          {t`Enqueue`}
        </Button>
        {added !== undefined && (
          <p role="status" className="text-ok">
            {added.duplicate ? t`Duplicate of ` : t`Enqueued: `}
            <button type="button" className="font-mono text-[12px] underline" onClick={() => onOpen(added.job_id)}>
              {added.job_id}
            </button>
          </p>
        )}
      </div>
      {action.problem !== undefined && (
        <p role="alert" className="text-danger">
          {t`Failed to enqueue: ${action.problem}`}
        </p>
      )}
    </form>
  );
}
