import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { Collected, type InMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { bind, cronEngine, gate, history, settled, ticking, turns } from "./testing/cron-engine.ts";

const CONFIG = { expression: "0 * * * * *", queue: "mail" };
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "svc-cron-redelivery-"));
  undo.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** An engine whose queue passes jobs to `handle`, and its jobs. */
async function start(
  clock: ManualClock,
  dataDir: string,
  handle: () => unknown,
): Promise<{ readonly engine: InMemoryEngine; readonly jobs: Collected<unknown> }> {
  const engine = await cronEngine({ clock, dataDir });
  undo.push(() => engine.stop());
  const jobs = new Collected<unknown>();
  const queue = await engine.connectWorker({ name: "queue" });
  queue.serve("engine::queue::enqueue", (job) => {
    jobs.add(job);
    return handle();
  });
  await turns();
  const { worker } = await ticking(engine);
  await bind(engine, worker, CONFIG, { id: "t" });
  return { engine, jobs };
}

it.each([
  ["put on its queue again, as the same job", "2026-01-01T00:02:30Z", true],
  ["left alone, since the queue may have forgotten the job", "2026-01-01T00:12:00Z", false],
])("a tick that a crash left between its start and its job is %s (T-6)", async (_, restartedAt, isAgain) => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const [before, after] = [folder(), folder()];
  const open = gate();
  const first = await start(clock, before, () => open.passed);
  clock.advance(60_000);
  const [job] = await first.jobs.count(1);
  // The state after a kill: the start is on disk, and the queue has not responded.
  cpSync(before, after, { recursive: true });
  open.open();
  await settled(first.engine, "t");

  const second = await start(manualClock(Date.parse(restartedAt)), after, () => ({ messageReceiptId: "1" }));
  await settled(second.engine, "t");
  const runs = await history(second.engine, "t");
  const started = runs.filter(({ scheduled_time }) => scheduled_time === "2026-01-01T00:01:00.000Z");
  expect(started).toMatchObject([{ outcome: isAgain ? "enqueued" : "error" }]);
  const keyOf = (value: unknown) => (value as { readonly options: { readonly dedupe_key: string } }).options.dedupe_key;
  expect(second.jobs.items.map(keyOf).filter((key) => key === keyOf(job))).toHaveLength(isAgain ? 1 : 0);
});
