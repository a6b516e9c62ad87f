// biome-ignore-all lint/suspicious/noConsole: the samples print what they receive.
// The README's samples, for the type checker. readme.test.ts compares the two. Never run.

import { CallError, connect } from "@svc-runtime/sdk";
import { z } from "zod";

const worker = connect({ name: "math-worker" });

worker.registerFunction("math::add", (input) => ({ c: input.a + input.b }), {
  description: "Adds two numbers",
  requestFormat: z.object({ a: z.number(), b: z.number() }),
});

const sum = await worker.call<{ c: number }>({ function_id: "math::add", payload: { a: 2, b: 3 } });
console.log(sum.c); // 5

worker.registerFunction("shop::pay", () => {
  throw new CallError("out_of_stock", "only 3 left", { details: { left: 3 } });
});

try {
  await worker.call({ function_id: "shop::pay", payload: { amount: 4 } });
} catch (error) {
  if (!(error instanceof CallError)) throw error;
  if (error.code === "out_of_stock") console.log("left:", error.details?.left);
  else if (error.retryable && error.executed === "no") console.log("nothing happened, try again later");
}

declare module "@svc-runtime/sdk" {
  interface Functions {
    "math::add": { payload: { a: number; b: number }; result: { c: number } };
  }
}

import { json } from "@svc-runtime/sdk";

const numbers = z.object({ a: z.number(), b: z.number() });

const route = worker.http.post("/math/add", { body: numbers }, async ({ body }) => {
  const added = await worker.call({ function_id: "math::add", payload: body });
  return json(added, { headers: { "x-sum": String(added.c) } });
});
console.log(await route.trigger.registered); // { status: "active" }

worker.http.get("/count", async (_input, response, { signal }) => {
  for (let n = 1; n <= 3 && !signal.aborted; n++) await response.sse({ event: "tick", data: { n } });
});

import { createReadStream } from "node:fs";
import type { ChannelReader } from "@svc-runtime/sdk";

worker.registerFunction("files::size", async ({ content }: { content: ChannelReader }) => {
  let size = 0;
  for await (const piece of content) size += piece.length;
  return { size };
});

const { reader, writer } = await worker.createChannel();
const answer = worker.call<{ size: number }>({ function_id: "files::size", payload: { content: reader } });
for await (const piece of createReadStream("big.bin")) await writer.write(piece);
await writer.end();
console.log((await answer).size);

import type { StateEvent } from "@svc-runtime/sdk";

const math = worker.state.scope<{ total: number; log: string[] }>("math");
const { version } = await math.set("total", 1);
await math.set("total", 2, { ifVersion: version }); // else CallError `state_conflict`, details { expected, actual }
await math.update("total", [{ type: "increment", path: "", by: 40 }]);
await worker.state.set("sessions", "ann", { cart: [] }, { expiresInMs: 3_600_000 });
for await (const { key, value } of worker.state.entries<{ cart: string[] }>("sessions", { prefix: "a" }))
  console.log(key, value.cart.length);

worker.registerFunction("math::changed", (event: StateEvent<number>) =>
  console.log(event.event_type, event.key, event.new_value),
);
worker.registerTrigger({
  type: "state",
  function_id: "math::changed",
  config: { scope: "math", key: "total", eventTypes: ["updated"] },
});

import type { CronEvent, EventMetadata } from "@svc-runtime/sdk";

worker.registerFunction("shop::notice", (order: { id: number }, { metadata }) =>
  console.log((metadata as EventMetadata).svc.topic, order.id),
);
worker.registerTrigger({ type: "event", function_id: "shop::notice", config: { topic: "orders.*" } });
console.log(await worker.event.emit("orders.created", { id: 7 })); // how many triggers took it

const { jobId } = await worker.queue.enqueue(
  "mail",
  "mail::send",
  { to: "ada" },
  { delayMs: 60_000, dedupeKey: "welcome-ada" },
);
console.log((await worker.queue.stats("mail")).delayed);
await worker.queue.cancel(jobId);

worker.registerFunction("shop::report", ({ scheduled_time }: CronEvent) => console.log("for", scheduled_time));
worker.registerTrigger({
  type: "cron",
  function_id: "shop::report",
  config: { expression: "0 7 * * MON-FRI", timezone: "Europe/Berlin" },
});
for (const { triggerId, nextRuns } of await worker.cron.list()) console.log(triggerId, nextRuns[0]);

import { connectStreams } from "@svc-runtime/sdk";

const todos = worker.stream.group<{ text: string; done: boolean }>("todos", "mine");
await todos.set("1", { text: "buy tea", done: false });
await todos.update("1", [{ type: "set", path: "done", value: true }]);
await todos.send({ type: "cheer", data: "well done" }); // reaches the present subscribers; is not stored

const streams = connectStreams();
const mine = streams.collection<{ text: string; done: boolean }>({ streamName: "todos", groupId: "mine" });
mine.onChange((_change, items) => console.log(items.size, "todos"));
await mine.ready;
streams.subscribe(
  { streamName: "todos", groupId: "mine" },
  { onEvent: (update) => console.log(update.seq, update.type, update.id) },
);

worker.registerFunction("orders::load", (input: { table: string }, { span, call, log }) =>
  span(
    "read rows",
    async (own) => {
      const rows = await call<unknown[]>({ function_id: "state::list", payload: { scope: input.table } });
      own.setAttribute("rows", rows.length);
      log.info("orders are read", { rows: rows.length });
      return rows;
    },
    { attributes: { table: input.table }, kind: "client" },
  ),
);
