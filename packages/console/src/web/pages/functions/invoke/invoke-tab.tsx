import { Ban, Play } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useWriteRefusal } from "../../../app/use-hello.tsx";
import { t } from "../../../labels/translate.ts";
import { checkPayload } from "../../../lib/check-payload.ts";
import { useHotkey } from "../../../lib/hotkeys.ts";
import { useLiveState } from "../../../lib/use-live.ts";
import { prefill } from "../../../model/prefill.ts";
import { Button } from "../../../ui/button.tsx";
import { PayloadEditor } from "../../../ui/payload/payload-editor.tsx";
import { useInvocation } from "../history/use-history.ts";
import { CallOptions } from "./call-options.tsx";
import { CopyAs } from "./copy-as.tsx";
import { invocations, useInvokeSession } from "./invoke-store.ts";
import { draftProblem } from "./request.ts";
import { RunResult } from "./run-result.tsx";
import { Templates } from "./templates.tsx";

/** Editor of a function's input, with call options and the last result. */
export default function InvokeTab({
  functionId,
  schema,
  isThere,
  replayId,
  onReplayLoaded,
}: {
  readonly functionId: string;
  readonly schema: unknown;
  readonly isThere: boolean;
  /** Invocation whose input is loaded into the editor. */
  readonly replayId: string | undefined;
  readonly onReplayLoaded: () => void;
}) {
  const { draft, run } = useInvokeSession(functionId);
  // The page rejects an input that does not match the schema. The engine may accept it, so "Send anyway" sends it.
  const [refused, setRefused] = useState<{ readonly text: string; readonly canSendAnyway: boolean }>();
  const proposal = useMemo(() => prefill(schema), [schema]);
  useEffect(() => invocations.seed(functionId, proposal), [functionId, proposal]);
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const isRunning = run?.state === "running";
  const problem = useMemo(() => draftProblem(draft), [draft]);
  const canAsk = refusal === undefined && !isRunning;

  const send = async (anyway: boolean): Promise<void> => {
    if (!canAsk) return;
    if (problem !== undefined) {
      setRefused({ text: problem, canSendAnyway: false });
      return;
    }
    const found = anyway ? undefined : await checkPayload(draft.payload, schema);
    if (found?.kind === "problems") {
      setRefused({ text: t`The input does not match the schema.`, canSendAnyway: true });
      return;
    }
    setRefused(undefined);
    await invocations.run(functionId, draft);
  };
  useHotkey("mod+Enter", t`Invoke the function`, () => void send(false), t`Functions`);
  const change = (payload: string): void => {
    setRefused(undefined);
    invocations.change(functionId, { payload });
  };
  return (
    <div className="flex flex-col gap-3 p-3">
      <PayloadEditor
        label={t`Input of ${functionId}`}
        text={draft.payload}
        schema={schema}
        onChange={change}
        onSubmit={() => void send(false)}
      >
        <Templates functionId={functionId} draft={draft} problem={problem} />
        <CopyAs functionId={functionId} draft={draft} problem={problem} />
      </PayloadEditor>
      <CallOptions draft={draft} onChange={(next) => invocations.change(functionId, next)} />
      <div className="flex flex-wrap items-center gap-2">
        <Button
          look="primary"
          onClick={() => void send(false)}
          disabledReason={refusal}
          isPending={isRunning}
          title={t`Invoke (⌘/Ctrl-Enter)`}
          icon={<Play aria-hidden className="size-3.5" />}
        >
          {t`Invoke`}
        </Button>
        {isRunning && (
          <Button onClick={() => invocations.cancel(functionId)} icon={<Ban aria-hidden className="size-3.5" />}>
            {t`Cancel`}
          </Button>
        )}
        {refused?.canSendAnyway === true && (
          <Button onClick={() => void send(true)} disabledReason={refusal}>
            {t`Send anyway`}
          </Button>
        )}
        {!isThere && <span className="text-warn">{t`No connected worker provides this function.`}</span>}
      </div>
      {refused !== undefined && (
        <p role="alert" className="rounded-md bg-danger-soft px-3 py-1.5 text-danger">
          {refused.text}
        </p>
      )}
      {replayId !== undefined && (
        <LoadReplay key={replayId} functionId={functionId} invocationId={replayId} onLoaded={onReplayLoaded} />
      )}
      {run !== undefined && <RunResult functionId={functionId} run={run} />}
    </div>
  );
}

/** Loads the input of an invocation into the editor, or says why that is not possible. */
function LoadReplay({
  functionId,
  invocationId,
  onLoaded,
}: {
  readonly functionId: string;
  readonly invocationId: string;
  readonly onLoaded: () => void;
}) {
  const { data, error } = useInvocation(invocationId);
  const input = data?.input;
  const isWhole = input != null && !input.truncated;
  // biome-ignore lint/correctness/useExhaustiveDependencies: loaded once, so that later edits stay
  useEffect(() => {
    if (!isWhole) return;
    invocations.load(functionId, input.json, invocationId);
    onLoaded();
  }, [isWhole]);
  if (error !== null || data === null || (data !== undefined && !isWhole))
    return (
      <p role="alert" className="rounded-md bg-warn-soft px-3 py-1.5 text-warn">
        {error?.message ??
          (data === null ? t`The call to replay is no longer stored.` : t`Its input was not stored in full.`)}
      </p>
    );
  return null;
}
