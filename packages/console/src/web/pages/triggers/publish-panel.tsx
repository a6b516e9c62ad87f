import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { call, callText } from "../../lib/api.ts";
import { useHotkey } from "../../lib/hotkeys.ts";
import { maskProblem } from "../../lib/mask-problem.ts";
import { useFunctions } from "../../lib/use-functions.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { prefill } from "../../model/prefill.ts";
import type { TriggerItem } from "../../model/triggers.ts";
import { Button } from "../../ui/button.tsx";
import { INPUT } from "../../ui/input-class.ts";
import { PayloadEditor } from "../../ui/payload/payload-editor.tsx";
import { type PublishTarget, publishedText, publishPayload, publishTargetOf } from "./publish.ts";

/** Panel that fires the trigger: it emits an event, publishes to a topic, or enqueues a job. */
export default function PublishPanel({ trigger }: { readonly trigger: TriggerItem }) {
  const target = publishTargetOf(trigger);
  const schema =
    useFunctions().items.find(({ function_id }) => function_id === trigger.function_id)?.request_format ?? undefined;
  const [name, setName] = useState(target.name);
  // Text that the user typed. Undefined until then; the editor shows an example that is made from the schema.
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
        throw new Error(t`The data is not JSON: ${(error as Error).message}`);
      }
      const mask = maskProblem(data);
      if (mask !== undefined) throw new Error(mask);
      if (name.trim() === "") throw new Error(t`Enter the ${target.member}`);
      if (target.kind === "event" && name.includes("*"))
        throw new Error(t`Enter an event name without *; a pattern cannot be emitted`);
      return publishedText(
        target,
        JSON.parse(await callText(target.functionId, publishPayload(target, name.trim(), data))),
      );
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["engine::queue::topic_stats"] }),
  });
  const send = (): void => {
    if (refusal === undefined && !publish.isPending) publish.mutate();
  };
  useHotkey("mod+Enter", target.action, send, t`Triggers`);
  return (
    <section className="flex flex-col gap-3">
      <h3 className="font-medium">{t`Try it`}</h3>
      {target.kind !== "event" && <QueueFacts target={target} />}
      <label className="flex flex-wrap items-center gap-2 text-ink-2">
        {target.label}
        <input
          className={`${INPUT} min-w-0 flex-1 font-mono text-[12px] text-ink`}
          value={name}
          readOnly={target.kind !== "event"}
          spellCheck={false}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      {target.isPattern && (
        <p className="text-ink-2">
          {rich`The trigger matches every event of the pattern ${<code>{target.name}</code>}; enter one event name.`}
        </p>
      )}
      <PayloadEditor
        label={t`Data for ${target.name}`}
        text={data}
        schema={schema}
        onChange={setTyped}
        onSubmit={send}
      />
      <div>
        <Button
          look="primary"
          disabledReason={refusal}
          isPending={publish.isPending}
          onClick={send}
          title={t`${target.action} (⌘/Ctrl-Enter)`}
        >
          {target.action}
        </Button>
      </div>
      {publish.data !== undefined && !publish.isPending && (
        <p role="status" className="rounded-md bg-ok-soft px-3 py-1.5 text-ok">
          {publish.data}{" "}
          <Link
            to="/functions/{-$functionId}"
            params={{ functionId: trigger.function_id }}
            search={{ tab: "history" }}
            className="underline"
          >
            {t`Calls of ${trigger.function_id}`}
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

function QueueFacts({ target }: { readonly target: PublishTarget }) {
  const { phase } = useLiveState();
  const { data, error } = useQuery({
    queryKey: ["engine::queue::topic_stats", target.member, target.name],
    queryFn: ({ signal }) =>
      call<{ readonly depth: number; readonly consumer_count: number; readonly dlq_depth: number }>(
        "engine::queue::topic_stats",
        { [target.member]: target.name },
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
            <span className="text-ink-2">{t`Depth`}</span> <span className="tabular-nums">{data.depth}</span>
          </span>
          <span>
            <span className="text-ink-2">{t`Dead letters`}</span>{" "}
            <span className={data.dlq_depth > 0 ? "text-danger tabular-nums" : "tabular-nums"}>{data.dlq_depth}</span>
          </span>
        </>
      )}
      <Link to="/queues/{-$topic}" params={{ topic: target.name }} className="text-accent underline">
        {t`Open queue`}
      </Link>
      {data !== undefined && data.dlq_depth > 0 && (
        <Link
          to="/queues/{-$topic}"
          params={{ topic: target.name }}
          search={{ tab: "dead" }}
          className="text-accent underline"
        >
          {t`Redrive dead letters`}
        </Link>
      )}
    </p>
  );
}
