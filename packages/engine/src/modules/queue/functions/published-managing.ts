import { CallError } from "@svc/protocol";
import { z } from "zod";
import type { FunctionSpec, ModuleContext } from "../../../kernel/module.ts";
import type { QueueCore } from "../queue-core.ts";
import type { Topics } from "../topics/topics.ts";
import { makerIn, mayRun } from "./job-request.ts";
import { type Meant, meantBy, messageIn } from "./names.ts";
import { publishedName } from "./published-name.ts";

const text = z.string().nullish();
export const named = { queue: text.meta({ description: "A queue, else a topic" }), topic: text.meta({ description: "A topic, else a queue" }) };
const oneMessage = z.object({ ...named, message_id: text.meta({ description: "A job's id" }) });

/** Management of dead letters by the ids and in the shapes that published clients know. A topic stands for the queues of all its subscriptions. */
export function providePublishedManaging({ provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">, core: QueueCore, topics: Topics): void {
  function provide<Input>(spec: FunctionSpec<Input>): void {
    provideFunction(spec);
    provideFunction(publishedName(spec));
  }

  /** The one of the queues that has the dead letter. Two who ask for it at once get it once: the store decides. */
  async function queueWith({ name, queues }: Meant, id: string): Promise<string> {
    const found = await core.store.call("job", id);
    if (found !== undefined && !("ended" in found) && found.state === "dead" && queues.includes(found.queue)) return found.queue;
    throw new CallError("job_not_found", `${name} has no dead letter ${id}; nothing was changed`, { details: { queue: name, job_id: id } });
  }

  provide({
    id: "svc::queue::redrive",
    summary: "Puts all dead letters of a queue or topic back",
    input: z.object(named),
    output: z.object({ queue: z.string(), redriven: z.int() }),
    async handle(input, { access, principal }) {
      const { name, queues } = await meantBy(input, core, topics);
      let redriven = 0;
      for (const queue of queues) redriven += await core.redrive(queue, { maker: makerIn(principal), mayRun: mayRun(access) });
      return { queue: name, redriven };
    },
  });
  provide({
    id: "svc::queue::redrive_message",
    summary: "Puts one dead letter back",
    input: oneMessage,
    output: z.object({ queue: z.string(), message_id: z.string(), redriven: z.int() }),
    async handle(input, { access, principal }) {
      const meant = await meantBy(input, core, topics);
      const id = messageIn(input);
      const redriven = await core.redrive(await queueWith(meant, id), { ids: [id], maker: makerIn(principal), mayRun: mayRun(access) });
      return { queue: meant.name, message_id: id, redriven };
    },
  });
  provide({
    id: "svc::queue::discard_message",
    summary: "Takes one dead letter out for good",
    input: oneMessage,
    output: z.object({
      queue: z.string(),
      message_id: z.string(),
      redriven: z.int().meta({ description: "The same as discarded: published clients read it under this name" }),
      discarded: z.int(),
    }),
    async handle(input) {
      const meant = await meantBy(input, core, topics);
      const id = messageIn(input);
      const discarded = await core.discard(await queueWith(meant, id), [id]);
      return { queue: meant.name, message_id: id, redriven: discarded, discarded };
    },
  });
}
