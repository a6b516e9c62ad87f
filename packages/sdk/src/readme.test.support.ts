// biome-ignore-all lint/suspicious/noConsole: the samples show what comes.
// The README's samples, for the type checker; readme.test.ts keeps the two the same. Never run here.

import { CallError, connect } from "@svc/sdk";
import { z } from "zod";

const worker = connect({ name: "math-worker" });

worker.registerFunction("math::add", (input) => ({ c: input.a + input.b }), {
  description: "Adds two numbers",
  request_format: z.object({ a: z.number(), b: z.number() }),
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

declare module "@svc/sdk" {
  interface Functions {
    "math::add": { payload: { a: number; b: number }; result: { c: number } };
  }
}

import { http, json } from "@svc/sdk";

worker.registerFunction(
  "http::add",
  http<{ a: number; b: number }>(async ({ body }) => {
    const added = await worker.call({ function_id: "math::add", payload: body });
    return json(added, { headers: { "x-sum": String(added.c) } });
  }),
);

const trigger = worker.registerTrigger({ type: "http", function_id: "http::add", config: { api_path: "/math/add", http_method: "POST" } });
console.log(await trigger.registered); // { status: "active" }

worker.registerFunction(
  "http::count",
  http(async (_request, response, { signal }) => {
    for (let n = 1; n <= 3 && !signal.aborted; n++) await response.sse({ event: "tick", data: { n } });
  }),
);
worker.registerTrigger({ type: "http", function_id: "http::count", config: { api_path: "/count" } });

import { createReadStream } from "node:fs";
import type { ChannelReader } from "@svc/sdk";

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
