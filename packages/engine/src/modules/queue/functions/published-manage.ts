import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import type { FunctionSpec, ModuleContext } from "../../../kernel/module.ts";
import type { QueueCore } from "../queue-core.ts";
import type { Topics } from "../topics/topics.ts";
import { makerIn, mayRun } from "./job-request.ts";
import { messageIn, publishedName, type ResolvedName, resolveName } from "./names.ts";

const text = z.string().nullish();
export const named = {
  queue: text.meta({ description: "Name of a queue, or of a topic" }),
  topic: text.meta({ description: "Name of a topic, or of a queue" }),
};
const oneMessage = z.object({ ...named, message_id: text.meta({ description: "A job's id" }) });

/**
 * Provides the functions with which published clients redrive and discard dead letters, with the ids and shapes that
 * these clients expect. For a topic, a function works on the queues of all subscriptions of the topic.
 */
export function providePublishedManageFunctions(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  core: QueueCore,
  topics: Topics,
): void {
  function provide<Input>(spec: FunctionSpec<Input>): void {
    provideFunction(spec);
    provideFunction(publishedName(spec));
  }

  /**
   * Returns the queue that has the dead letter. The store makes sure that concurrent calls redrive or discard it only
   * once.
   */
  async function queueWith({ name, queues }: ResolvedName, id: string): Promise<string> {
    const found = await core.store.call("job", id);
    if (found !== undefined && !("ended" in found) && found.state === "dead" && queues.includes(found.queue))
      return found.queue;
    throw new CallError("job_not_found", `${name} has no dead letter ${id}; nothing was changed`, {
      details: { queue: name, job_id: id },
    });
  }

  provide({
    id: "svc::queue::redrive",
    summary: "Returns all dead letters of a topic or queue to their queues",
    input: z.object(named),
    output: z.object({ queue: z.string(), redriven: z.int() }),
    async handle(input, { access, principal }) {
      const { name, queues } = await resolveName(input, core, topics);
      let redriven = 0;
      for (const queue of queues)
        redriven += await core.redrive(queue, { maker: makerIn(principal), mayRun: mayRun(access) });
      return { queue: name, redriven };
    },
  });
  provide({
    id: "svc::queue::redrive_message",
    summary: "Returns one dead letter to its queue",
    input: oneMessage,
    output: z.object({ queue: z.string(), message_id: z.string(), redriven: z.int() }),
    async handle(input, { access, principal }) {
      const resolved = await resolveName(input, core, topics);
      const id = messageIn(input);
      const redriven = await core.redrive(await queueWith(resolved, id), {
        ids: [id],
        maker: makerIn(principal),
        mayRun: mayRun(access),
      });
      return { queue: resolved.name, message_id: id, redriven };
    },
  });
  provide({
    id: "svc::queue::discard_message",
    summary: "Deletes one dead letter",
    input: oneMessage,
    output: z.object({
      queue: z.string(),
      message_id: z.string(),
      redriven: z.int().meta({ description: "Same as discarded, under the name that published clients read" }),
      discarded: z.int(),
    }),
    async handle(input) {
      const resolved = await resolveName(input, core, topics);
      const id = messageIn(input);
      const discarded = await core.discard(await queueWith(resolved, id), [id]);
      return { queue: resolved.name, message_id: id, redriven: discarded, discarded };
    },
  });
}
