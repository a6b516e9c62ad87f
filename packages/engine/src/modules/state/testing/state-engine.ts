import { type FunctionId, Payload } from "@svc-runtime/protocol";
import type { ChannelReader } from "../../../kernel/module.ts";
import { type InMemoryEngine, inMemoryEngine, type ManualClock } from "../../../testing/index.ts";
import { state } from "../index.ts";

/** Starts an engine with svc-state in memory. */
export function stateEngine(
  options: { readonly clock?: ManualClock; readonly maxValueBytes?: number } = {},
): Promise<InMemoryEngine> {
  return inMemoryEngine({
    modules: [state],
    config: {
      "svc-state": {
        adapter: { name: "in_memory" },
        ...(options.maxValueBytes === undefined ? {} : { max_value_bytes: options.maxValueBytes }),
      },
    },
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
}

/** Returns the text of a channel that was finished normally. */
export async function textOf(reader: ChannelReader): Promise<string> {
  let text = "";
  for (let item = await reader.read(); item !== undefined; item = await reader.read())
    text += item.kind === "text" ? item.text : item.bytes.toString();
  if (reader.ended !== "finished") throw new Error(`the channel is ${reader.ended} behind ${JSON.stringify(text)}`);
  return text;
}

/** Returns the JSON text of a result, with all digits. */
export async function answerText(engine: InMemoryEngine, functionId: string, payload: string): Promise<string> {
  return (await engine.kernel.router.call(functionId as FunctionId, Payload.fromText(payload))).text();
}
