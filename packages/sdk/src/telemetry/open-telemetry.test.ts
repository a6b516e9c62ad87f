import { context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeEngine, type Frame } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";
import { type CallContext, connect, type Worker } from "../node.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const TRACE = `00-${TRACE_ID}-${PARENT}-01`;

const exporter = new InMemorySpanExporter();
let engine: FakeEngine;
let worker: Worker;

beforeEach(async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  engine = await FakeEngine.start();
  engine.reply = (frame) =>
    frame.function_id === "g"
      ? { type: "invocationresult", invocation_id: frame.invocation_id, function_id: "g" }
      : undefined;
  worker = connect(engine.address, { name: "probe", logger: silentLogger, handleSignals: false });
});

afterEach(async () => {
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
  exporter.reset();
  trace.disable();
  context.disable();
});

const tracer = () => trace.getTracer("test");
const spanNamed = (name: string) => exporter.getFinishedSpans().find((span) => span.name === name);
const calledG = () => engine.frame({ function_id: "g" });

async function handled(body: (context: CallContext) => unknown, more: Frame = {}): Promise<void> {
  worker.registerFunction("f", (_input, call) => body(call));
  await engine.frame({ type: "registerfunction", id: "f" });
  engine.send({ data: null, type: "invokefunction", invocation_id: ID, function_id: "f", traceparent: TRACE, ...more });
  const { error } = await engine.frame({ type: "invocationresult", invocation_id: ID });
  expect(error).toBeUndefined();
}

describe("OpenTelemetry, if the program has set it up,", () => {
  it("has spans below the call's span, and is the parent of calls made inside", async () => {
    await handled(({ call }) =>
      tracer().startActiveSpan("query", async (span) => {
        await call({ function_id: "g" });
        span.end();
      }),
    );
    const query = spanNamed("query");
    expect(query?.parentSpanId).toBe(PARENT);
    expect(query?.spanContext().traceId).toBe(TRACE_ID);
    expect((await calledG()).traceparent).toBe(`00-${TRACE_ID}-${query?.spanContext().spanId}-01`);
  });

  it("has spans below the SDK's spans, and SDK spans below its spans", async () => {
    const parents: (string | undefined)[] = [];
    await handled(({ span }) =>
      span("ours", (ours) => {
        tracer().startActiveSpan("theirs", (theirs) => {
          parents.push(ours.traceparent.split("-")[2]);
          span("inner", (inner) => {
            parents.push(inner.traceparent);
            void worker.callVoid({ function_id: "g" });
          });
          theirs.end();
        });
      }),
    );
    expect(spanNamed("theirs")?.parentSpanId).toBe(parents[0]);
    expect((await calledG()).traceparent).toBe(parents[1]);
  });

  it("passes its active span and baggage to calls outside of handlers", async () => {
    const baggage = propagation.createBaggage({ user: { value: "Jürgen & co" } });
    await context.with(propagation.setBaggage(ROOT_CONTEXT, baggage), () =>
      tracer().startActiveSpan("outside", async (span) => {
        await worker.call({ function_id: "g" });
        span.end();
      }),
    );
    const { traceId, spanId } = spanNamed("outside")?.spanContext() ?? {};
    expect(await calledG()).toMatchObject({
      traceparent: `00-${traceId}-${spanId}-01`,
      baggage: "user=J%C3%BCrgen%20%26%20co",
    });
  });

  it("does not pass a span of another trace to a call", async () => {
    await handled(({ call }) =>
      context.with(ROOT_CONTEXT, () =>
        tracer().startActiveSpan("elsewhere", async (span) => {
          await call({ function_id: "g" });
          span.end();
        }),
      ),
    );
    expect((await calledG()).traceparent).toBe(TRACE);
  });

  it("receives the call's baggage, and passes on what it adds", async () => {
    let seen: string | undefined;
    await handled(
      ({ call }) => {
        const baggage = propagation.getActiveBaggage();
        seen = baggage?.getEntry("user")?.value;
        const more = propagation.setBaggage(
          context.active(),
          (baggage ?? propagation.createBaggage()).setEntry("tenant", { value: "a" }),
        );
        return context.with(more, () => call({ function_id: "g" }));
      },
      { baggage: "user=J%C3%BCrgen;ttl=1" },
    );
    expect(seen).toBe("Jürgen");
    expect((await calledG()).baggage).toBe("user=J%C3%BCrgen;ttl=1,tenant=a");
  });

  it("passes on its baggage even without an active span", async () => {
    const baggage = propagation.createBaggage({ user: { value: "u" } });
    await context.with(propagation.setBaggage(ROOT_CONTEXT, baggage), () => worker.call({ function_id: "g" }));
    const call = await calledG();
    expect(call.baggage).toBe("user=u");
    expect(call).not.toHaveProperty("traceparent");
  });

  it("does not change a call without a span", async () => {
    await worker.call({ function_id: "g" });
    expect(await calledG()).not.toHaveProperty("traceparent");
  });
});
