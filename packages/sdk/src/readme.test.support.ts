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

interface AddRequest {
  body: { a: number; b: number };
}

worker.registerFunction("http::add", async (request: AddRequest) => {
  const added = await worker.call<{ c: number }>({ function_id: "math::add", payload: request.body });
  return { status_code: 200, headers: { "x-sum": String(added.c) }, body: added };
});

const trigger = worker.registerTrigger({ type: "http", function_id: "http::add", config: { api_path: "/math/add", http_method: "POST" } });
console.log(await trigger.registered); // { status: "active" }
