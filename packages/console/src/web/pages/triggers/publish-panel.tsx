import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useWriteRefusal } from "../../app/hello.tsx";
import { call, callText } from "../../lib/api.ts";
import { useHotkey } from "../../lib/hotkeys.ts";
import { maskProblem } from "../../lib/mask-problem.ts";
import { useFunctions } from "../../lib/use-functions.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { prefill } from "../../model/prefill.ts";
import type { TriggerItem } from "../../model/triggers.ts";
import { Button } from "../../ui/button.tsx";
import { INPUT } from "../../ui/input.ts";
import { PayloadEditor } from "../../ui/payload/payload-editor.tsx";
import { type Publishing, publishedText, publishingOf, publishPayload } from "./publish.ts";

/** Emits an event, publishes to a topic or puts a job on a queue: what the trigger waits for. */
export default function PublishPanel({ trigger }: { readonly trigger: TriggerItem }) {
  const publishing = publishingOf(trigger);
  const schema = useFunctions().items.find(({ function_id }) => function_id === trigger.function_id)?.request_format ?? undefined;
  const [target, setTarget] = useState(publishing.target);
  // Undefined: nothing was typed, and what the schema proposes stands there.
  const [typed, setTyped] = useState<string>();
  const data = typed ?? prefill(schema);
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const queries = useQueryClient();
  const publish = useMutation({
    mutationFn: async () => {
      try {
        JSON.parse(data);
      } catch (error) {
        throw new Error(`The data is not JSON: ${(error as Error).message}`);
      }
      const mask = maskProblem(data);
      if (mask !== undefined) throw new Error(mask);
      if (target.trim() === "") throw new Error(`Name the ${publishing.member}`);
      if (publishing.kind === "event" && target.includes("*")) throw new Error("Give the event a name without *: a pattern takes events, it is none");
      return publishedText(publishing, JSON.parse(await callText(publishing.functionId, publishPayload(publishing, target.trim(), data))));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["engine::queue::topic_stats"] }),
  });
  const send = (): void => {
    if (refusal === undefined && !publish.isPending) publish.mutate();
  };
  useHotkey("mod+Enter", publishing.action, send, "Triggers");
  return (
    <section className="flex flex-col gap-3">
      <h3 className="font-medium">Try it</h3>
      {publishing.kind !== "event" && <QueueFacts publishing={publishing} />}
      <label className="flex flex-wrap items-center gap-2 text-ink-2">
        {publishing.label}
        <input
          className={`${INPUT} min-w-0 flex-1 font-mono text-[12px] text-ink`}
          value={target}
          readOnly={publishing.kind !== "event"}
          spellCheck={false}
          onChange={(event) => setTarget(event.target.value)}
        />
      </label>
      {publishing.isPattern && (
        <p className="text-ink-2">
          The trigger takes every event that fits <code>{publishing.target}</code>; name one of them.
        </p>
      )}
      <PayloadEditor label={`Data for ${publishing.target}`} text={data} schema={schema} onChange={setTyped} onSubmit={send} />
      <div>
        <Button look="primary" disabledReason={refusal} isPending={publish.isPending} onClick={send} title={`${publishing.action} (⌘/Ctrl-Enter)`}>
          {publishing.action}
        </Button>
      </div>
      {publish.data !== undefined && !publish.isPending && (
        <p role="status" className="rounded-md bg-ok-soft px-3 py-1.5 text-ok">
          {publish.data}{" "}
          <Link to="/functions/{-$functionId}" params={{ functionId: trigger.function_id }} search={{ tab: "history" }} className="underline">
            Calls of {trigger.function_id}
          </Link>
        </p>
      )}
      {publish.error !== null && (
        <p role="alert" className="rounded-md bg-danger-soft px-3 py-1.5 text-danger">
          {publish.error.message}
        </p>
      )}
    </section>
  );
}

const STATS_EVERY_MS = 3_000;

function QueueFacts({ publishing }: { readonly publishing: Publishing }) {
  const { phase } = useLiveState();
  const { data, error } = useQuery({
    queryKey: ["engine::queue::topic_stats", publishing.member, publishing.target],
    queryFn: ({ signal }) =>
      call<{ readonly depth: number; readonly consumer_count: number; readonly dlq_depth: number }>(
        "engine::queue::topic_stats",
        { [publishing.member]: publishing.target },
        { signal },
      ),
    refetchInterval: STATS_EVERY_MS,
    enabled: phase === "live",
  });
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1">
      {error !== null && (
        <span role="alert" className="text-danger">
          {error.message}
        </span>
      )}
      {data !== undefined && (
        <>
          <span>
            <span className="text-ink-2">Depth</span> <span className="tabular-nums">{data.depth}</span>
          </span>
          <span>
            <span className="text-ink-2">Dead letters</span>{" "}
            <span className={data.dlq_depth > 0 ? "text-danger tabular-nums" : "tabular-nums"}>{data.dlq_depth}</span>
          </span>
        </>
      )}
      <Link to="/queues/{-$topic}" params={{ topic: publishing.target }} className="text-accent underline">
        To the queue
      </Link>
      {data !== undefined && data.dlq_depth > 0 && (
        <Link to="/queues/{-$topic}" params={{ topic: publishing.target }} search={{ tab: "dead" }} className="text-accent underline">
          Redrive its dead letters
        </Link>
      )}
    </p>
  );
}
