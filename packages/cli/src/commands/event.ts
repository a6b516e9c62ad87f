import { CallError } from "@svc-runtime/protocol";
import type { Worker } from "@svc-runtime/sdk";
import { Command } from "commander";
import { didYouMean } from "../did-you-mean.ts";
import { askEngine, payloadWith } from "../engine/engine-request.ts";
import { usageFailure } from "../exit-codes.ts";
import { isField, type JsonSource, jsonArgument, objectOfFields } from "../functions/json-input.ts";
import type { Shell } from "../shell.ts";
import { sayNote } from "../terminal/notes.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

const DATA: JsonSource = { noun: "data", example: `svc event emit orders.created '{"id": 7}'` };

interface EmitOptions extends EngineOptions {
  readonly json?: true;
}

/** `svc event emit`: publishes one event. */
export function eventEmitCommand(shell: Shell): Command {
  const command = new Command("emit")
    .summary("publish an event")
    .description(
      "Publish an event and print how many triggers received it. The data is JSON, @FILE, - for standard input, or key=value words that form an object, as in `svc trigger`.",
    )
    .argument("<topic>", "topic of the event, e.g. orders.created")
    .argument("[data...]", "JSON, @FILE, -, or key=value words (default: null)")
    .addOption(jsonOption("print how many triggers received it as JSON"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc event emit orders.created id=7\n  svc event emit orders.created '{\"id\": 7}'\n  svc event emit orders.created @order.json\n",
    );
  return withEngineOptions(command).action((topic: string, words: readonly string[], own: EmitOptions) =>
    emit(shell, command, { topic, words, options: allOptions(own, command) }),
  );
}

interface Emit {
  readonly topic: string;
  readonly words: readonly string[];
  readonly options: EmitOptions;
}

async function emit(shell: Shell, command: Command, { topic, words, options }: Emit): Promise<void> {
  const json = await dataOf(shell, words);
  const { delivered, hint } = await askEngine(shell, { command, options, access: "changes" }, async (engine) => {
    const payload = payloadWith({ event: topic }, { name: "data", json });
    const result = await engine.callJson({ function_id: "event::emit", payload });
    const { delivered_to } = JSON.parse(result) as { readonly delivered_to: number };
    return { delivered: delivered_to, hint: delivered_to === 0 ? await nearestTopic(engine, topic) : "" };
  });
  if (options.json) shell.out(`${JSON.stringify({ topic, delivered_to: delivered })}\n`);
  if (delivered === 0) sayNote(shell, `no trigger listens to ${topic}${hint === "" ? "." : hint}`);
  else
    shell.note(
      `${shell.paint.green("Published")} ${topic}: ${delivered} trigger${delivered === 1 ? "" : "s"} received it\n`,
    );
}

async function dataOf(shell: Shell, words: readonly string[]): Promise<string> {
  const [first = "null"] = words;
  if (words.length > 0 && words.every(isField)) return objectOfFields(words);
  if (words.length > 1)
    throw usageFailure(
      `Not key=value words, and more than one word of JSON: ${words.join(" ")}`,
      `Put JSON in single quotes: ${DATA.example}`,
    );
  return jsonArgument(shell, first, DATA);
}

interface TopicRow {
  readonly topic: string;
  readonly subscribers: number;
}

/**
 * Returns a hint with the nearest topic. If the topics cannot be listed, returns an empty string, because the event is
 * already published and the command must not fail.
 */
export async function nearestTopic(engine: Pick<Worker, "call">, topic: string): Promise<string> {
  let rows: readonly TopicRow[];
  try {
    rows = (await engine.call<{ readonly topics: readonly TopicRow[] }>({ function_id: "event::list", payload: {} }))
      .topics;
  } catch (error) {
    if (CallError.is(error)) return "";
    throw error;
  }
  return didYouMean(
    topic,
    rows.filter(({ subscribers }) => subscribers > 0).map((row) => row.topic),
  );
}

/** `svc event`: publishes events. */
export function eventCommand(shell: Shell): Command {
  return new Command("event")
    .summary("publish events")
    .description("Publish events to the functions subscribed to a topic (svc-event).")
    .addCommand(eventEmitCommand(shell))
    .addHelpText("after", "\nExamples:\n  svc event emit orders.created id=7\n");
}
