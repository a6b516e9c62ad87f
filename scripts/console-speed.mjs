// `node scripts/console-speed.mjs [trace] [logs] [streams]`: measures the console's page against its bars, with a real engine and browser. A trace of
// 10,000 spans and a list of 100,000 log entries open and scroll without a task over 200 ms; 2,000 messages a second for a minute leave the counters exact
// and the memory bounded.

import { openBrowser, startSystem } from "./console-system.mjs";
import { build, buildConsolePage, bundleCli } from "./setup.mjs";
import { interruptSignal, reportFailure, stepRunner } from "./steps.mjs";

const CONFIG = `workers:
  - name: svc-stream
  - name: svc-observability
    config: { memory_max_spans: 50000, logs_max_count: 150000, logs_max_bytes: 268435456 }
`;
const SPANS = 10_000;
const LOGS = 100_000;
const RATE = 2_000;
const SECONDS = 60;
const LONGEST_TASK_MS = 200;
/** At once, in the worker that fills the engine. */
const LANES = 100;

const measurements = { trace: measureTrace, logs: measureLogs, streams: measureStreams };

async function main() {
  const chosen = process.argv.slice(2);
  const signal = interruptSignal();
  const undo = [];
  try {
    const names = chosen.length === 0 ? Object.keys(measurements) : chosen;
    const { step } = stepRunner({ total: 3 + names.length, signal });
    await step("Building", build);
    await step("Bundling svc", bundleCli);
    await step("Building the console's page", buildConsolePage);
    const system = await startSystem(CONFIG, undo);
    const browser = await openBrowser(undo);
    const worker = await system.worker("filler");
    let isHeld = true;
    for (const name of names) {
      await step(`Measuring ${name}`, async ({ outcome }) => {
        const { text, holds } = await measurements[name]({ system, browser, worker });
        outcome(`${text}: ${holds ? "holds" : "DOES NOT HOLD"}`);
        isHeld &&= holds;
      });
    }
    return isHeld ? 0 : 1;
  } catch (error) {
    return reportFailure(error);
  } finally {
    for (const each of undo.reverse()) await each();
  }
}

/** A page that keeps how long its long tasks took. */
async function openPage(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.addInitScript(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: "longtask",
      buffered: true,
    });
  });
  await page.goto(url);
  return page;
}

const longestTask = (page) => page.evaluate(() => Math.round(Math.max(0, ...globalThis.longTasks.splice(0))));

/** Wheels to the end and back, as fast as frames come. Resolves with the frames it took. */
async function wheel(page, grid, steps) {
  await grid.hover();
  for (const direction of [1, -1]) {
    for (let at = 0; at < steps; at++) {
      await page.mouse.wheel(0, direction * 3_000);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    }
  }
}

async function fill(count, each) {
  let next = 0;
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      while (next < count) await each(next++);
    }),
  );
}

async function measureTrace({ system, browser, worker }) {
  worker.registerFunction("wide::leaf", () => null);
  worker.registerFunction("wide::root", () => fill(SPANS - 1, (at) => worker.call({ function_id: "wide::leaf", payload: at })).then(() => null));
  await worker.call({ function_id: "wide::root", payload: null, timeout_ms: 120_000 });
  const { spans } = await worker.call({ function_id: "engine::traces::list", payload: { name: "wide::root", limit: 1 } });
  const begin = Date.now();
  const page = await openPage(browser, `${system.url}/traces/${spans[0].trace_id}`);
  const grid = page.getByRole("treegrid", { name: "Spans" });
  await grid.waitFor();
  await page.waitForFunction((count) => Number(document.querySelector('[role="treegrid"]')?.getAttribute("aria-rowcount")) > count, SPANS, { timeout: 60_000 });
  const openMs = Date.now() - begin;
  const opening = await longestTask(page);
  await wheel(page, grid, 120);
  const scrolling = await longestTask(page);
  await page.close();
  return {
    text: `${SPANS} spans open in ${openMs} ms, longest task ${opening} ms; scrolling ${scrolling} ms`,
    holds: Math.max(opening, scrolling) <= LONGEST_TASK_MS,
  };
}

async function measureLogs({ system, browser, worker }) {
  await fill(LOGS, (at) =>
    worker.call({ function_id: "engine::log::info", payload: { message: `order ${at} was packed`, service_name: "shop", data: { at } } }),
  );
  const page = await openPage(browser, `${system.url}/logs?range=all`);
  const grid = page.getByRole("grid").first();
  await grid.waitFor();
  const opening = await longestTask(page);
  const rows = () => grid.evaluate((element) => Number(element.getAttribute("aria-rowcount")));
  const deadline = Date.now() + 180_000;
  const footer = page.getByText(/^[\d,]+ loaded/);
  const loaded = async () => Number(((await footer.textContent()) ?? "").split(" ")[0].replaceAll(",", ""));
  while ((await loaded()) < LOGS && Date.now() < deadline) {
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }
  const filling = await longestTask(page);
  await wheel(page, grid, 120);
  const scrolling = await longestTask(page);
  const count = await loaded();
  const shown = await rows();
  await page.close();
  return {
    text: `${count} entries loaded (${shown} rows), longest task opening ${opening} ms, loading ${filling} ms, scrolling ${scrolling} ms`,
    holds: count >= LOGS && Math.max(opening, filling, scrolling) <= LONGEST_TASK_MS,
  };
}

async function measureStreams({ system, browser, worker }) {
  const page = await openPage(browser, `${system.url}/streams?sub=flood:a`);
  await page.getByLabel("Subscriptions").getByText("live").waitFor();
  const inspector = await page.context().newCDPSession(page);
  const heapMiB = async () => {
    await inspector.send("HeapProfiler.collectGarbage");
    return Math.round((await page.evaluate(() => performance.memory.usedJSHeapSize)) / 1024 / 1024);
  };
  await longestTask(page);
  const heaps = [await heapMiB()];
  const total = RATE * SECONDS;
  const begin = Date.now();
  let sent = 0;
  const answers = [];
  while (sent < total) {
    const due = Math.min(total, Math.floor(((Date.now() - begin) / 1000) * RATE));
    for (; sent < due; sent++) {
      const data = { at: sent, text: "a message of a common size, as a chat or a price would be" };
      answers.push(worker.call({ function_id: "stream::send", payload: { stream_name: "flood", group_id: "a", type: "tick", data } }));
    }
    if (sent >= (heaps.length * total) / 3) heaps.push(await heapMiB());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await Promise.all(answers);
  const tookS = (Date.now() - begin) / 1000;
  const counter = (name) => page.getByLabel("Counters").locator(`div:has(> dt:text-is("${name}")) dd`).textContent();
  const number = async (name) => Number((await counter(name)).replaceAll(/\D/g, ""));
  const deadline = Date.now() + 20_000;
  while ((await number("Outbound")) < total && Date.now() < deadline) await page.waitForTimeout(100);
  const [outbound, dropped] = [await number("Outbound"), await number("Dropped")];
  heaps.push(await heapMiB());
  const longest = await longestTask(page);
  await page.close();
  return {
    text: `${total} messages in ${tookS.toFixed(1)} s: ${outbound} counted, ${dropped} dropped; heap ${heaps.join(", ")} MiB; longest task ${longest} ms`,
    holds: outbound === total && dropped === 0 && heaps.at(-1) < 200,
  };
}

process.exitCode = await main();
