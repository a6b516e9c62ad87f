import { accessTo, type InMemoryEngine, inMemoryEngine } from "@svc-runtime/engine/testing";
import { afterEach, expect, it } from "vitest";
import observability, { OBSERVABILITY } from "../index.ts";

let engine: InMemoryEngine | undefined;
afterEach(async () => {
  await engine?.stop();
  engine = undefined;
});

const traceIdOf = (digit: string): string => digit.repeat(32);
const within = (digit: string) => ({ traceparent: `00-${traceIdOf(digit)}-${digit.repeat(16)}-01` });

it("a restricted reader of telemetry sees calls of functions that every client may call only from connections of its own principal", async () => {
  const running = await inMemoryEngine({ modules: [observability], config: { [OBSERVABILITY]: {} } });
  engine = running;
  const access = () => accessTo(['match("engine::*")']);
  const [reader, sibling, bank] = [
    await running.connectWorker({ name: "reader", access: access() }),
    await running.connectWorker({ name: "sibling", access: access() }),
    await running.connectWorker({ name: "bank" }),
  ];
  await bank.call("engine::log::info", { message: "private-card" }, within("1"));
  await bank.call("engine::baggage::get_all", { card: "private-card" }, within("1"));
  await reader.call("engine::log::info", { message: "line of the reader" }, within("2"));
  await sibling.call("engine::log::info", { message: "line of the sibling" }, within("3"));
  const ask = async (by: typeof reader): Promise<string> => {
    const invocations = (await by.call("engine::invocations::list", { include_internal: true })).result as {
      invocations: { invocation_id: string }[];
    };
    const answers: unknown[] = [invocations];
    for (const { invocation_id } of invocations.invocations)
      answers.push((await by.call("engine::invocations::get", { invocation_id })).result);
    for (const digit of ["1", "2", "3"])
      answers.push(
        (await by.call("engine::traces::spans", { trace_id: traceIdOf(digit), include_internal: true })).result,
      );
    for (const id of [
      "traces::list",
      "traces::facets",
      "metrics::list",
      "metrics::series",
      "metrics::functions",
      "rollups::list",
    ]) {
      answers.push((await by.call(`engine::${id}`, { include_internal: true, limit: 100 })).result);
    }
    return JSON.stringify(answers);
  };
  expect(await ask(bank)).toMatch(/private-card.*engine::baggage::get_all/s);
  const seen = await ask(reader);
  expect(seen).toContain("line of the reader");
  expect(seen).toContain("line of the sibling");
  expect(seen).not.toMatch(/private-card|baggage::get_all|bank/);
});
