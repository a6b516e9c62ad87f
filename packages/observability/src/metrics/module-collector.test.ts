import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadModules } from "@svc-runtime/engine";
import { type InMemoryEngine, inMemoryEngine, manualClock } from "@svc-runtime/engine/testing";
import { afterEach, expect, test } from "vitest";
import { OBSERVABILITY } from "../index.ts";

let engine: InMemoryEngine | undefined;
afterEach(async () => {
  await engine?.stop();
});

test("queues, streams, events, cron and HTTP tell their figures, each queue and stream its own", async () => {
  const clock = manualClock();
  engine = await inMemoryEngine({
    modules: await loadModules(),
    config: {
      [OBSERVABILITY]: {},
      "svc-queue": { adapter: { name: "in_memory" }, queue_configs: { mails: {}, bills: {} } },
      "svc-stream": { adapter: { name: "in_memory" } },
      "svc-event": {},
      "svc-cron": {},
      "svc-http": {},
    },
    clock,
    dataDir: mkdtempSync(join(tmpdir(), "svc-figures-")),
  });
  await engine.call("engine::queue::enqueue", { queue: "mails", function_id: "mail::send", data: {} });
  await engine.call("stream::set", { stream_name: "todos", group_id: "g", item_id: "1", data: { a: 1 } });
  await engine.call("event::emit", { event: "orders.made", data: {} });
  const socket = engine.openSocket("/");
  socket.send(JSON.stringify({ type: "join", data: { subscriptionId: "s", streamName: "todos", groupId: "g" } }));
  await socket.next();
  await (await fetch(`${await engine.http()}/nothing`)).text();

  clock.advance(5_000);
  // The job store responds a little later.
  await engine.call("queue::list", {});
  const { series } = (await engine.call("engine::metrics::series", { aggregate: "max" })) as {
    series: readonly {
      name: string;
      labels: Record<string, string>;
      points: readonly (readonly [number, number | null])[];
    }[];
  };
  const figures = new Map(
    series.map(({ name, labels, points }) => [
      [name, ...Object.values(labels)].join(" "),
      points.map(([, value]) => value).find((value) => value !== null) ?? null,
    ]),
  );
  expect(Object.fromEntries(figures)).toMatchObject({
    "svc.queue.waiting mails": 1,
    "svc.queue.added mails": 1,
    "svc.queue.dead mails": 0,
    "svc.stream.events todos": 1,
    "svc.stream.subscribers todos": 1,
    "svc.event.published": 1,
    "svc.http.requests 4xx": 1,
    "svc.http.in_flight": 0,
  });
  socket.close();
});
