import type { QueueStats } from "@svc-runtime/protocol/listings";
import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { plural, t } from "../../labels/translate.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Button } from "../../ui/button.tsx";
import { JsonEditor } from "../../ui/json-editor.tsx";
import { dataProblem, functionOfSubscription } from "./model.ts";
import { publish } from "./queue-api.ts";
import { useAction, useTopicDepth } from "./use-queues.ts";

/** Details of a durable topic: its subscriptions, and a form that publishes a message. */
export function TopicDetail({
  topic,
  queues,
  onOpen,
}: {
  readonly topic: string;
  readonly queues: readonly QueueStats[];
  readonly onOpen: (queue: string) => void;
}) {
  const subscriptions = queues.filter((stats) => stats.topic === topic);
  const depth = useTopicDepth(topic);
  return (
    <div className="flex flex-col gap-4 p-3">
      <section aria-labelledby="subscriptions">
        <h3 id="subscriptions" className="mb-1 font-medium">
          {t`Subscriptions`}
        </h3>
        {subscriptions.length === 0 ? (
          <p className="text-ink-2">
            {t`No subscriptions.`}{" "}
            {depth.data !== undefined &&
              plural(depth.data, "1 message waits for the first one.", "# messages wait for the first one.")}
            {depth.error !== null && <span className="text-danger"> {depth.error.message}</span>}
          </p>
        ) : (
          <ul className="flex flex-col gap-1">
            {subscriptions.map(({ queue, waiting, active, delayed, dead }) => (
              <li key={queue}>
                <button
                  type="button"
                  className="flex w-full flex-wrap items-center gap-x-3 rounded-md border border-line px-2 py-1.5 text-left hover:bg-hover"
                  onClick={() => onOpen(queue)}
                >
                  <span className="font-medium text-accent">{functionOfSubscription(queue)}</span>
                  <span className="text-[12px] text-ink-2">
                    {t`${waiting} waiting, ${active} in flight, ${delayed} delayed`}
                  </span>
                  {dead > 0 && <span className="text-[12px] text-danger">{t`${dead} dead letters`}</span>}
                </button>
              </li>
            ))}
          </ul>
        )}
      </section>
      <PublishForm topic={topic} />
    </div>
  );
}

function PublishForm({ topic }: { readonly topic: string }) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const action = useAction();
  const [json, setJson] = useState("{}");
  const [sent, setSent] = useState<{ readonly message_id: string; readonly subscriptions: number } | undefined>();
  const problem = dataProblem(json);
  const send = async (): Promise<void> => {
    if (problem !== undefined || refusal !== undefined) return;
    setSent(undefined);
    await action.run(async () => setSent(await publish(topic, json)));
  };
  return (
    <section aria-labelledby="publish" className="flex flex-col gap-2">
      <h3 id="publish" className="font-medium">
        {t`Publish`}
      </h3>
      <JsonEditor
        label={t`Data of the message`}
        value={json}
        onChange={setJson}
        onSubmit={() => void send()}
        className="h-40"
      />
      {problem !== undefined && <p className="text-danger">{problem}</p>}
      <div className="flex flex-wrap items-center gap-3">
        <Button
          look="primary"
          disabledReason={refusal}
          disabled={problem !== undefined}
          isPending={action.isPending}
          onClick={() => void send()}
        >
          {t`Publish`}
        </Button>
        {sent !== undefined && (
          <p role="status" className="text-ok">
            {t`Published to`} {plural(sent.subscriptions, "1 subscription", "# subscriptions")}
            {sent.subscriptions === 0 && t`; the message waits for the first one`}
            {"."}
          </p>
        )}
      </div>
      {action.problem !== undefined && (
        <p role="alert" className="text-danger">
          {t`Failed to publish: ${action.problem}`}
        </p>
      )}
    </section>
  );
}
