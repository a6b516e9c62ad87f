import { type ConsoleSystem, fill, loadNow, withConsole } from "../console/console-system.ts";
import { MeasuredPage } from "../console/measured-page.ts";
import { pause } from "../ports.ts";
import { spread } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import type { Scenario } from "./scenario.ts";

const LOGS = 100_000;
/** Raises the engine's limits, because by default it keeps only 10,000 entries and 16 MiB. */
const OBSERVABILITY = {
  name: "svc-observability",
  config: { logs_max_count: 150_000, logs_max_bytes: 256 * 1024 * 1024, logs_console_output: false },
} as const;
const OPEN_TIMEOUT_MS = 60_000;
/** Entries per second that arrive while the list is open. */
const LIVE_RATE = 500;
const LIVE_SECONDS = 5;
const LOAD_TIMEOUT_MS = 180_000;
/** Entries that an open page receives: as many as in 5 minutes with 200 calls per second, but faster. */
const FOLLOWED = 60_000;
const QUICK_FOLLOWED = 15_000;
/** After this number the page has evicted the first entries. */
const FOLLOWED_BEFORE = 10_000;
const FOLLOWED_PER_SECOND = 2_000;
const TICK_MS = 100;
const GRID = `document.querySelector('[role="grid"][aria-label="Log entries"]')`;
/** Number in the list's footer. Includes live entries, so it may exceed the initial number. */
const LOADED = `Number(/([\\d,]+) loaded/.exec(document.body.innerText)?.[1]?.replaceAll(",", ""))`;

interface Visit {
  readonly openMs: number;
  readonly openingTaskMs: number;
  readonly loadMs: number;
  readonly loadingTaskMs: number;
  readonly scrollingTaskMs: number;
  readonly liveTaskMs: number;
  readonly heapMb: number;
  readonly load: number;
}

/** Measures the console's list of many log entries. The browser's cache is empty each time. */
export const consoleLogs: Scenario = {
  title: `The console: a list of ${LOGS} log entries`,
  rows: [27],
  run(context) {
    return withConsole(context, { name: "console-logs", modules: [OBSERVABILITY] }, async (system) => {
      await fill(LOGS, (at) => write(system, at));
      const { total } = await system.worker.call<{ readonly total: number }>({
        function_id: "engine::logs::list",
        payload: { limit: 1, services: ["shop"] },
      });
      if (total !== LOGS) throw new Error(`the engine keeps ${total} entries, not ${LOGS}`);
      const visits: Visit[] = [];
      for (let round = 0; round < context.options.rounds; round++) visits.push(await visit(system));
      const growthMb = await followedGrowthMb(system, context.options.quick ? QUICK_FOLLOWED : FOLLOWED);
      const of = (value: (visit: Visit) => number) => spread(visits.map(value));
      const binding = { row: 27, unit: "ms", sense: "at most", standing: "binding" } as const;
      const loading = of(({ loadMs }) => loadMs / 1_000);
      const heap = of(({ heapMb }) => heapMb);
      return {
        measurements: [],
        notes: [
          `${visits.length} visits; scrolling to the end until all were loaded took ${formatNumber(loading.median)} s [${formatNumber(loading.min)}-${formatNumber(loading.max)}]`,
          `the page's JavaScript heap with all of them: ${formatNumber(heap.median)} MB; load of the machine at each visit: ${visits.map(({ load }) => load.toFixed(1)).join(", ")}`,
        ],
        bars: [
          {
            ...binding,
            what: `until the newest of ${LOGS} entries are there`,
            measured: of(({ openMs }) => openMs),
            limit: 2_000,
          },
          {
            ...binding,
            what: "longest task while it opens",
            measured: of(({ openingTaskMs }) => openingTaskMs),
            limit: 200,
          },
          {
            ...binding,
            what: "longest task while all are loaded",
            measured: of(({ loadingTaskMs }) => loadingTaskMs),
            limit: 200,
          },
          {
            ...binding,
            what: "longest task while all are scrolled",
            measured: of(({ scrollingTaskMs }) => scrollingTaskMs),
            limit: 200,
          },
          {
            ...binding,
            what: `longest task while ${LIVE_RATE} more a second come`,
            measured: of(({ liveTaskMs }) => liveTaskMs),
            limit: 200,
          },
          {
            ...binding,
            what: "growth of the heap while an open page follows the newest entries",
            unit: "MB",
            measured: spread([growthMb]),
            limit: 4,
          },
        ],
      };
    });
  },
};

function write({ worker }: ConsoleSystem, at: number, service = "shop"): Promise<unknown> {
  return worker.call({
    function_id: "engine::log::info",
    payload: { message: `order ${at} was packed`, service_name: service, data: { at } },
  });
}

/** Returns the growth of an open page's heap in MB while it receives entries. Begins after it has evicted an entry. */
async function followedGrowthMb(system: ConsoleSystem, entries: number): Promise<number> {
  const measured = await MeasuredPage.open(system.browser);
  try {
    await measured.visit(
      `${system.url}/logs?source=followed`,
      `document.body.innerText.includes("Nothing matches")`,
      OPEN_TIMEOUT_MS,
    );
    const follow = async (from: number, to: number): Promise<number> => {
      const perTick = (FOLLOWED_PER_SECOND * TICK_MS) / 1_000;
      for (let at = from; at < to; at += perTick) {
        const begunMs = performance.now();
        await fill(perTick, (each) => write(system, at + each, "followed"));
        await pause(Math.max(0, begunMs + TICK_MS - performance.now()));
      }
      // Others may be stored in another order.
      await write(system, to, "followed");
      await measured.until(`${GRID}?.innerText.includes("order ${to} was packed")`, OPEN_TIMEOUT_MS);
      return measured.heapMb();
    };
    const beforeMb = await follow(0, FOLLOWED_BEFORE);
    return (await follow(FOLLOWED_BEFORE, FOLLOWED_BEFORE + entries)) - beforeMb;
  } finally {
    await measured.close();
  }
}

async function visit(system: ConsoleSystem): Promise<Visit> {
  const { browser, url } = system;
  const load = loadNow();
  const measured = await MeasuredPage.open(browser);
  try {
    const openMs = await measured.visit(
      `${url}/logs?source=shop`,
      `${GRID}?.querySelector('[aria-selected]') != null`,
      OPEN_TIMEOUT_MS,
    );
    // The other requests of the page, for counts and the histogram, are part of opening the page.
    await measured.page.waitForLoadState("networkidle");
    const openingTaskMs = await measured.longestTaskMs();
    const begunMs = await measured.until("true", OPEN_TIMEOUT_MS);
    // Simulates a held End key: the list requests older entries whenever its end is visible.
    const doneMs = await measured.until(
      `(${GRID}.scrollTop = ${GRID}.scrollHeight, ${LOADED} >= ${LOGS})`,
      LOAD_TIMEOUT_MS,
    );
    const loadingTaskMs = await measured.longestTaskMs();
    await measured.wheel(measured.page.getByRole("grid", { name: "Log entries" }));
    const scrollingTaskMs = await measured.longestTaskMs();
    for (let burst = 0; burst < LIVE_SECONDS * 10; burst++) {
      const begunMs = performance.now();
      await fill(LIVE_RATE / 10, (at) => write(system, at));
      await pause(Math.max(0, begunMs + 100 - performance.now()));
    }
    const liveTaskMs = await measured.longestTaskMs();
    return {
      openMs,
      openingTaskMs,
      loadMs: doneMs - begunMs,
      loadingTaskMs,
      scrollingTaskMs,
      liveTaskMs,
      heapMb: await measured.heapMb(),
      load,
    };
  } finally {
    await measured.close();
  }
}
