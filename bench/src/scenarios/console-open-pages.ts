import type { Bar } from "../bars.ts";
import { BrowserProcess, type Transfers } from "../console/browser-process.ts";
import { fill, loadNow, type SystemWithoutBrowser, withConsoleOnly } from "../console/console-system.ts";
import { cpuTimeUs } from "../cpu.ts";
import { placeApart } from "../pinning.ts";
import { pause } from "../ports.ts";
import { Latencies, ratio, spread } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import type { Scenario, ScenarioContext, ScenarioResult } from "./scenario.ts";

const SPANS = 50_000;
/** Calls per second. Each creates one trace and one log entry. */
const RATE = 200;
const WINDOW_MS = 10_000;
const QUICK_WINDOW_MS = 2_000;
/** Time for a page to load what it needs, before it is measured. */
const SETTLE_MS = 2_000;
/** Raises the engine's limits, because by default it keeps only 10,000 spans and 16 MiB. */
const OBSERVABILITY = {
  name: "svc-observability",
  config: {
    memory_max_spans: SPANS,
    memory_max_bytes: 512 * 1024 * 1024,
    logs_max_count: SPANS,
    logs_max_bytes: 512 * 1024 * 1024,
    logs_console_output: false,
  },
} as const;
const SYSTEM = { name: "console-open-pages", modules: [OBSERVABILITY] } as const;
const FUNCTIONS = ["shop::order", "shop::stock", "shop::price"] as const;
/** One call in this number fails. */
const FAILS_EVERY = 100;

const PAGES = {
  Traces: {
    path: "/traces",
    isThere: `document.querySelector('[role="grid"][aria-label="Traces"] [role="row"]') !== null`,
  },
  Logs: {
    path: "/logs",
    isThere: `document.querySelector('[role="grid"][aria-label="Log entries"] [aria-selected]') !== null`,
  },
  Dashboard: { path: "/", isThere: `document.body.innerText.includes("Slowest traces")` },
} as const;

/** The bell, the command palette and the dialogs are loaded a second later than the page itself. */
const HAS_BELL = `document.querySelector('[title="Notifications"]') !== null`;

interface Measured {
  /** Share of a core, in percent. */
  readonly cpu: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Measures the cost of an open page of the console for an engine that keeps many spans and runs calls. */
export const consoleOpenPages: Scenario = {
  title: `The console: an open page, ${SPANS} spans kept, ${RATE} calls per second`,
  rows: [32],
  run(context) {
    return withConsoleOnly(context, SYSTEM, async (system) => {
      // Before this process is bound to a core, so that the browser is not bound to it too.
      const browser = await BrowserProcess.start(context.folder);
      const notes = placeApart(process.pid, [system.enginePid]);
      try {
        const result = await measurePages(context, system, browser);
        return { ...result, notes: [...notes, ...(result.notes ?? [])] };
      } finally {
        await browser.stop();
      }
    });
  },
};

async function measurePages(
  { options }: ScenarioContext,
  system: SystemWithoutBrowser,
  browser: BrowserProcess,
): Promise<ScenarioResult> {
  const windowMs = options.quick ? QUICK_WINDOW_MS : WINDOW_MS;
  for (const name of FUNCTIONS) system.worker.registerFunction(name, order(system));
  await fill(SPANS, (at) => callNumber(system, at));
  await checkStored(system);
  const names = Object.keys(PAGES) as (keyof typeof PAGES)[];
  const windows = { Traces: newWindows(), Logs: newWindows(), Dashboard: newWindows() };
  const loads: Transfers[] = [];
  for (let round = 0; round < options.rounds; round++) {
    for (const name of names) {
      const { none, open } = windows[name];
      const withoutPage = async (): Promise<void> => void none.push(await underLoad(system, windowMs));
      // The machine has fast and slow phases, so each window with a page has one without directly before or after it.
      if (round % 2 === 0) await withoutPage();
      open.push(await withPage(browser, system.url, PAGES[name], () => underLoad(system, windowMs)));
      if (round % 2 === 1) await withoutPage();
    }
    const { path, isThere } = PAGES.Dashboard;
    loads.push(await browser.firstLoad(`${system.url}${path}`, isThere, HAS_BELL));
  }
  return {
    measurements: [],
    notes: [
      ...names.map(
        (name) => `with the ${name} page: ${summary(windows[name].open)}; without: ${summary(windows[name].none)}`,
      ),
      `load of the machine: ${loadNow().toFixed(1)}`,
    ],
    bars: [
      ...names.flatMap((name) => barsOf(name, windows[name])),
      {
        row: 32,
        what: "requests of the first load of the Dashboard",
        measured: spread(loads.map(({ requests }) => requests)),
        unit: "requests",
        limit: 25,
        sense: "at most",
        standing: "binding",
      },
      {
        row: 32,
        what: "transfer of the first load of the Dashboard",
        measured: spread(loads.map(({ kb }) => kb)),
        unit: "KB",
        limit: 500,
        sense: "at most",
        standing: "binding",
      },
    ],
  };
}

interface Windows {
  /** The windows without a page. */
  readonly none: Measured[];
  readonly open: Measured[];
}

function newWindows(): Windows {
  return { none: [], open: [] };
}

function barsOf(name: string, { none, open }: Windows): readonly Bar[] {
  return [
    {
      row: 32,
      what: `share of a core that an open ${name} page costs the engine`,
      measured: spread(open.map(({ cpu }, round) => cpu - (none[round]?.cpu ?? 0))),
      unit: "%",
      limit: 5,
      sense: "at most",
      standing: "binding",
    },
    {
      row: 32,
      what: `p99 of calls with an open ${name} page vs without`,
      measured: ratio(
        open.map(({ p99Ms }) => p99Ms),
        none.map(({ p99Ms }) => p99Ms),
      ),
      unit: "x",
      limit: 1.1,
      sense: "at most",
      standing: "quoted",
    },
  ];
}

/** Rejects if the engine has not kept all spans and log entries that the pages need for the measurement. */
async function checkStored({ worker }: SystemWithoutBrowser): Promise<void> {
  for (const function_id of ["engine::traces::list", "engine::logs::list"]) {
    const { total } = await worker.call<{ readonly total: number }>({ function_id, payload: { limit: 1 } });
    if (total < SPANS * 0.9) throw new Error(`${function_id} finds ${total} entries, not ${SPANS}`);
  }
}

function order({ worker }: SystemWithoutBrowser) {
  return ({ at }: { readonly at: number }): { readonly at: number } => {
    worker.log.info(`order ${at} was taken`, { at });
    if (at % FAILS_EVERY === 0) throw new Error("out of stock");
    return { at };
  };
}

/** Rejects if a call fails that should not. */
async function callNumber({ worker }: SystemWithoutBrowser, at: number): Promise<void> {
  const function_id = FUNCTIONS[at % FUNCTIONS.length] as string;
  const call = worker.call({ function_id, payload: { at } });
  await (at % FAILS_EVERY === 0 ? call.catch(() => undefined) : call);
}

/** Measures with an open page. Rejects if the page shows nothing new, because then its cost was not measured. */
async function withPage<Result>(
  browser: BrowserProcess,
  url: string,
  { path, isThere }: { readonly path: string; readonly isThere: string },
  use: () => Promise<Result>,
): Promise<Result> {
  await browser.open(`${url}${path}`, isThere);
  await pause(SETTLE_MS);
  const before = await browser.text();
  const result = await use();
  if ((await browser.text()) === before) throw new Error(`the page ${path} did not change while calls were made`);
  await browser.close();
  return result;
}

/** Calls at a fixed rate, whether or not earlier calls have returned. */
async function underLoad(system: SystemWithoutBrowser, windowMs: number): Promise<Measured> {
  const latencies = new Latencies();
  const pending = new Set<Promise<void>>();
  let failure: unknown;
  const begunMs = performance.now();
  const begunCpuUs = cpuTimeUs(system.enginePid);
  for (let at = 1; at * (1_000 / RATE) < windowMs; at++) {
    const dueMs = begunMs + at * (1_000 / RATE);
    await pause(Math.max(0, dueMs - performance.now()));
    const sentMs = performance.now();
    const call = callNumber(system, at).then(
      () => latencies.add((performance.now() - sentMs) * 1_000),
      (error: unknown) => {
        failure = error;
      },
    );
    pending.add(call);
    void call.then(() => pending.delete(call));
  }
  const cpuUs = cpuTimeUs(system.enginePid) - begunCpuUs;
  const tookUs = (performance.now() - begunMs) * 1_000;
  await Promise.all(pending);
  if (failure !== undefined) throw failure;
  const { p50Us, p99Us } = latencies.summary();
  return { cpu: (100 * cpuUs) / tookUs, p50Ms: p50Us / 1_000, p99Ms: p99Us / 1_000 };
}

function summary(measured: readonly Measured[]): string {
  const of = (value: (one: Measured) => number): string => formatNumber(spread(measured.map(value)).median);
  return `engine ${of(({ cpu }) => cpu)} % of a core, calls p50 ${of(({ p50Ms }) => p50Ms)} ms, p99 ${of(({ p99Ms }) => p99Ms)} ms`;
}
