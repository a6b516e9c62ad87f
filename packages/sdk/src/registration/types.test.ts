import {
  type ChannelReader,
  type ChannelWriter,
  connect,
  connectStreams,
  type Handler,
  http,
  json,
  type StateEntry,
  type StateEvent,
  type StreamEvent,
  type StreamJoinEvent,
  type Worker,
} from "@svc-runtime/sdk";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

declare module "@svc-runtime/sdk" {
  interface Functions {
    "typed::add": { payload: { a: number; b: number }; result: { c: number } };
    "typed::note": { payload: string; result: undefined };
  }
  interface TriggerConfigs {
    "typed-tick": { every_ms: number };
  }
}

/** Never run: only the types are checked. */
async function checks(worker: Worker): Promise<void> {
  // A known function's payload and result are inferred from its id.
  expectTypeOf(await worker.call({ function_id: "typed::add", payload: { a: 1, b: 2 } })).toEqualTypeOf<{
    c: number;
  }>();
  // @ts-expect-error the payload lacks b
  await worker.call({ function_id: "typed::add", payload: { a: 1 } });
  // @ts-expect-error the payload is missing
  await worker.call({ function_id: "typed::add" });
  // @ts-expect-error the payload is not a string
  await worker.callVoid({ function_id: "typed::note", payload: 7 });
  // @ts-expect-error the payload is not a string
  await worker.enqueue({ queue: "q", function_id: "typed::note", payload: 7 });
  expectTypeOf(await worker.enqueue({ queue: "q", function_id: "typed::note", payload: "x" })).toEqualTypeOf<{
    readonly messageReceiptId: string;
  }>();

  // An unknown function's result is unknown, unless the caller gives a type.
  expectTypeOf(await worker.call({ function_id: "other", payload: 7 })).toEqualTypeOf<unknown>();
  expectTypeOf(await worker.call({ function_id: "other" })).toEqualTypeOf<unknown>();
  expectTypeOf(await worker.call<{ x: string }>({ function_id: "other", payload: 7 })).toEqualTypeOf<{ x: string }>();
  const someId: string = "typed::add";
  expectTypeOf(await worker.call({ function_id: someId, payload: 7 })).toEqualTypeOf<unknown>();

  // A zod schema types the handler's input and, for the response, its result.
  worker.registerFunction(
    "new::f",
    (input, context) => {
      expectTypeOf(input).toEqualTypeOf<{ a: number; b: number }>();
      expectTypeOf(context.call).toBeFunction();
      return { c: input.a + input.b };
    },
    {
      requestFormat: z.object({ a: z.number(), b: z.number().default(1) }),
      responseFormat: z.object({ c: z.number() }),
    },
  );
  worker.registerFunction("new::async", async (input) => input.toUpperCase(), { requestFormat: z.string() });
  // @ts-expect-error the handler's result does not match the response schema
  worker.registerFunction("new::bad", () => ({ c: "x" }), {
    requestFormat: z.object({}),
    responseFormat: z.object({ c: z.number() }),
  });

  // Deprecated names keep their types.
  worker.registerFunction("old::f", (input) => expectTypeOf(input).toEqualTypeOf<{ a: number }>(), {
    request_format: z.object({ a: z.number() }),
    timeout_ms: 5,
  });
  expectTypeOf(await worker.call({ functionId: "typed::add", payload: { a: 1, b: 2 } })).toEqualTypeOf<{
    c: number;
  }>();
  // @ts-expect-error the payload lacks b
  await worker.call({ functionId: "typed::add", payload: { a: 1 } });

  // A known id types the handler. An annotation overrides it. Otherwise the input is unknown.
  worker.registerFunction("typed::add", (input) => {
    expectTypeOf(input).toEqualTypeOf<{ a: number; b: number }>();
    return { c: input.a };
  });
  worker.registerFunction("new::annotated", (input: { a: number }) => input.a, { requestFormat: { type: "object" } });
  worker.registerFunction("new::unknown", (input) => {
    expectTypeOf(input).toEqualTypeOf<unknown>();
  });

  // In a handler, context.call has the types of worker.call.
  const handler: Handler<{ a: number }> = async (input, { call }) => {
    expectTypeOf(await call({ function_id: "typed::add", payload: { a: input.a, b: 1 } })).toEqualTypeOf<{
      c: number;
    }>();
    expectTypeOf(await call<number>({ function_id: "other" })).toEqualTypeOf<number>();
  };
  worker.registerFunction("new::handler", handler);

  // The configs of known types are checked. Other types accept anything.
  worker.registerTrigger({
    type: "http",
    function_id: "f",
    config: { api_path: "/a", middlewareFunctionIds: ["m", { function_id: "n", phase: "postHandler" }] },
  });
  // @ts-expect-error the path is missing
  worker.registerTrigger({ type: "http", function_id: "f", config: { http_method: "GET" } });
  // @ts-expect-error an unknown key
  worker.registerTrigger({ type: "http", function_id: "f", config: { api_path: "/a", http_methd: "GET" } });
  // @ts-expect-error no such method
  worker.registerTrigger({ type: "http", function_id: "f", config: { api_path: "/a", http_method: "FETCH" } });
  worker.registerTrigger({ type: "http", function_id: "f", config: { api_path: "/a", http_method: "post" } });
  worker.registerTrigger({ type: "http", functionId: "f", config: { apiPath: "/a", httpMethod: "PATCH" } });
  // @ts-expect-error neither function_id nor functionId
  worker.registerTrigger({ type: "http", config: { apiPath: "/a" } });
  worker.registerTrigger({ type: "typed-tick", function_id: "f", config: { every_ms: 5 } });
  // @ts-expect-error a declared type's config
  worker.registerTrigger({ type: "typed-tick", function_id: "f", config: { every_ms: "5" } });
  worker.registerTrigger({ type: "other", function_id: "f", config: 7 });
  worker.registerTrigger({ type: "event", function_id: "f", config: { event_name: "orders.*" } });
  // @ts-expect-error no topic
  worker.registerTrigger({ type: "subscribe", function_id: "f", config: {} });
  worker.registerTrigger({ type: "cron", function_id: "f", config: { expression: "@daily", overlap: "queue_one" } });
  // @ts-expect-error no such policy
  worker.registerTrigger({ type: "cron", function_id: "f", config: { expression: "@daily", misfire: "twice" } });
  worker.registerTrigger({
    type: "durable:subscriber",
    function_id: "f",
    config: { topic: "t", queue_config: { maxRetries: 3 } },
  });
  // @ts-expect-error no queue
  worker.registerTrigger({ type: "queue", function_id: "f", config: { topic: "t" } });
  expectTypeOf((await worker.queue.peek<string>("q", { state: "done" })).jobs[0]?.result).toEqualTypeOf<
    string | undefined
  >();
  expectTypeOf((await worker.queue.peek<{ a: number }>("q")).jobs[0]?.data).toEqualTypeOf<{ a: number } | undefined>();
  const someType: string = "http";
  worker.registerTrigger({ type: someType, function_id: "f", config: 7 });

  // A trigger type's schemas type its bindings, its triggers and its functions.
  const timer = worker.registerTriggerType(
    {
      id: "timer",
      description: "d",
      triggerRequestFormat: z.object({ every: z.coerce.string() }),
      callRequestFormat: z.object({ at: z.number() }),
    },
    {
      registerTrigger: ({ config }) => {
        expectTypeOf(config).toEqualTypeOf<{ every: string }>();
      },
      unregisterTrigger: () => {},
    },
  );
  timer.registerFunction("g", (input) => expectTypeOf(input).toEqualTypeOf<{ at: number }>(), { every: 5 });
  // @ts-expect-error the config lacks every
  timer.registerTrigger("f", {});

  // A ref's direction determines which end it opens.
  const { reader, readerRef, writerRef } = await worker.createChannel({ bufferItems: 8 });
  expectTypeOf(worker.openChannel(readerRef)).toEqualTypeOf<ChannelReader>();
  expectTypeOf(worker.openChannel(writerRef)).toEqualTypeOf<ChannelWriter>();
  for await (const item of reader) expectTypeOf(item).toEqualTypeOf<string | Uint8Array>();

  // `http` types the body. Its result registers like any handler.
  worker.registerFunction(
    "http::typed",
    http<{ a: number }>(({ body, form, query, files }, response) => {
      expectTypeOf(body).toEqualTypeOf<{ a: number }>();
      expectTypeOf(query.a).toEqualTypeOf<readonly string[] | undefined>();
      expectTypeOf(form?.a).toEqualTypeOf<readonly string[] | undefined>();
      // A form part may be a file without a name.
      expectTypeOf(files?.[0]?.filename).toEqualTypeOf<string | null | undefined>();
      expectTypeOf(files?.[0]?.body).toEqualTypeOf<ChannelReader | undefined>();
      // @ts-expect-error a chunk is a string or bytes
      void response.write(7);
      return json({ ok: true });
    }),
  );
}

function routeChecks(worker: Worker): void {
  worker.http.get("/shops/:shop/files/*path", ({ params, query, body, request }, response, context) => {
    expectTypeOf(params).toEqualTypeOf<{ readonly shop: string; readonly path: string }>();
    expectTypeOf(query).toEqualTypeOf<Readonly<Record<string, string | readonly string[]>>>();
    expectTypeOf(body).toEqualTypeOf<unknown>();
    expectTypeOf(request.cookies).toEqualTypeOf<Readonly<Record<string, string>>>();
    expectTypeOf(response.write).toBeFunction();
    expectTypeOf(context.call).toBeFunction();
  });
  worker.http.post(
    "/orders/:id",
    {
      query: z.object({ limit: z.coerce.number().default(5) }),
      headers: z.object({ "x-tenant": z.string() }),
      body: z.object({ item: z.string() }),
      response: z.object({ ok: z.boolean() }),
      timeoutMs: 5,
    },
    async ({ params, query, headers, body }) => {
      expectTypeOf(params).toEqualTypeOf<{ readonly id: string }>();
      expectTypeOf(query).toEqualTypeOf<{ limit: number }>();
      expectTypeOf(headers).toEqualTypeOf<{ "x-tenant": string }>();
      expectTypeOf(body).toEqualTypeOf<{ item: string }>();
      return { ok: true };
    },
  );
  worker.http.get("/a", { response: z.object({ ok: z.boolean() }) }, () => json({ problem: "gone" }, { status: 410 }));
  worker.http.get("/a", { response: z.object({ ok: z.boolean() }) }, async (_input, response) => {
    await response.write("text");
    return undefined;
  });
  // @ts-expect-error the result does not match the response schema
  worker.http.get("/a", { response: z.object({ ok: z.boolean() }) }, () => ({ ok: "yes" }));
  worker.http.put("/upload", { body: "stream" }, ({ request }) => {
    expectTypeOf(request.request_body).toEqualTypeOf<ChannelReader | undefined>();
  });
  // @ts-expect-error no such option
  worker.http.get("/a", { timeout: 5 }, () => 1);
  const somePath: string = "/a";
  worker.http.get(somePath, ({ params }) => expectTypeOf(params).toEqualTypeOf<{ readonly [x: string]: string }>());

  // A schema of the request checks a handler made by `http`.
  worker.registerFunction(
    "http::checked",
    http<{ item: string }>(({ body, path_params }) => `${body.item} ${path_params.id}`),
    { requestFormat: z.object({ body: z.object({ item: z.string() }) }) },
  );
  const takesNumber = http<{ item: number }>(({ body }) => body.item);
  const requestFormat = z.object({ body: z.object({ item: z.string() }) });
  // @ts-expect-error the schema's body is not the declared one
  worker.registerFunction("http::wrong", takesNumber, { requestFormat });
}

interface Todo {
  readonly text: string;
}

async function stateChecks(worker: Worker): Promise<void> {
  const { state, stream } = worker;
  expectTypeOf(await state.get("s", "k")).toEqualTypeOf<unknown>();
  expectTypeOf(await state.get<number>("s", "k")).toEqualTypeOf<number | null>();
  expectTypeOf((await state.set("s", "k", { a: 1 })).oldValue).toEqualTypeOf<{ a: number } | null>();
  // @ts-expect-error an unknown operation
  await state.update("s", "k", [{ type: "double", path: "a" }]);
  // @ts-expect-error `by` is missing
  await state.update("s", "k", [{ type: "increment", path: ["a", "b"] }]);
  // @ts-expect-error either keys or a prefix
  await state.deleteMany("s", {});
  for await (const entry of state.entries<number>("s")) expectTypeOf(entry).toEqualTypeOf<StateEntry<number>>();

  // A scope types its values by key.
  const math = state.scope<{ total: number; name: string }>("math");
  expectTypeOf(await math.get("total")).toEqualTypeOf<number | null>();
  expectTypeOf((await math.getEntry("name"))?.value).toEqualTypeOf<string | undefined>();
  // @ts-expect-error a key that is not in the scope
  await math.get("totl");
  // @ts-expect-error a name is a string
  await math.set("name", 7);
  const counters = state.scope<Readonly<Record<string, number>>>("counters");
  expectTypeOf(await counters.list()).toEqualTypeOf<readonly number[]>();

  const todos = stream.group<Todo>("todos", "mine");
  expectTypeOf(await todos.get("a")).toEqualTypeOf<Todo | null>();
  // @ts-expect-error the text is missing
  await todos.set("a", {});

  // The configs of triggers are checked.
  worker.registerTrigger({
    type: "state",
    function_id: "f",
    config: { scope: "math", eventTypes: ["state:created", "updated"] },
  });
  worker.registerTrigger({ type: "state:deleted", function_id: "f", config: { prefix: "a" } });
  worker.registerTrigger({ type: "stream", function_id: "f", config: { streamName: "todos", groupId: "mine" } });
  worker.registerTrigger({ type: "stream:join", function_id: "f", config: {} });
  // @ts-expect-error no such kind of event
  worker.registerTrigger({ type: "state", function_id: "f", config: { eventTypes: ["changed"] } });
  // @ts-expect-error the stream is missing
  worker.registerTrigger({ type: "stream", function_id: "f", config: {} });

  // The type of an event determines its members.
  worker.registerFunction("on::state", (event: StateEvent<number>) => {
    if (event.event_type === "state:deleted") expectTypeOf(event.new_value).toEqualTypeOf<null>();
    else expectTypeOf(event.new_value).toEqualTypeOf<number>();
    if (event.event_type !== "state:created") expectTypeOf(event.old_value).toEqualTypeOf<number>();
  });
  worker.registerFunction("on::stream", ({ event }: StreamEvent<Todo>) => {
    if (event.type === "event") expectTypeOf(event.event.type).toEqualTypeOf<string>();
    else expectTypeOf(event.data).toEqualTypeOf<Todo>();
  });
  worker.registerFunction("on::join", (join: StreamJoinEvent<{ user: string }>) => ({
    unauthorized: join.context?.user !== "ann",
  }));
}

function streamChecks(): void {
  const client = connectStreams({ url: "ws://x" });
  client.subscribe<Todo>(
    { streamName: "s", groupId: "g" },
    { onSync: (data) => expectTypeOf(data).toEqualTypeOf<readonly Todo[]>() },
  );
  client.subscribe<Todo>(
    { streamName: "s", groupId: "g", id: "a" },
    {
      onSync: (data) => expectTypeOf(data).toEqualTypeOf<Todo | null>(),
      onEvent: (update) => {
        if (update.type === "event") expectTypeOf(update.id).toEqualTypeOf<string | null>();
        else expectTypeOf(update.data).toEqualTypeOf<Todo>();
      },
    },
  );
  expectTypeOf(client.collection<Todo>({ streamName: "s", groupId: "g" }).items).toEqualTypeOf<
    ReadonlyMap<string, Todo>
  >();
}

describe("the types", () => {
  it("know state, streams and their events", () => {
    expectTypeOf(stateChecks).toBeFunction();
    expectTypeOf(streamChecks).toBeFunction();
    expectTypeOf(routeChecks).toBeFunction();
  });

  it("know functions that a project declares", () => {
    expectTypeOf(checks).toBeFunction();
    expectTypeOf(connect).returns.toEqualTypeOf<Worker>();
  });
});
