import { type ConsoleSystem, fill, loadNow, withConsole } from "../console/console-system.ts";
import { MeasuredPage } from "../console/measured-page.ts";
import { spread } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import type { Scenario } from "./scenario.ts";

const SPANS = 10_000;
const OBSERVABILITY = { name: "svc-observability", config: { memory_max_spans: 50_000 } } as const;
const FILL_TIMEOUT_MS = 120_000;
const OPEN_TIMEOUT_MS = 60_000;
const ALL_ROWS = `Number(document.querySelector('[role="treegrid"]')?.getAttribute("aria-rowcount")) > ${SPANS}`;

interface Visit {
  readonly firstMs: number;
  readonly openMs: number;
  readonly openingTaskMs: number;
  readonly scrollingTaskMs: number;
  readonly heapMb: number;
  readonly load: number;
}

/** Measures the console's page of a large trace. The browser's cache is empty each time. */
export const consoleTrace: Scenario = {
  title: `The console: a trace of ${SPANS} spans`,
  rows: [26],
  run(context) {
    return withConsole(context, { name: "console-trace", modules: [OBSERVABILITY] }, async (system) => {
      const traceId = await makeTrace(system);
      const visits: Visit[] = [];
      for (let round = 0; round < context.options.rounds; round++) visits.push(await visit(system, traceId));
      const of = (value: (visit: Visit) => number) => spread(visits.map(value));
      const binding = { row: 26, unit: "ms", sense: "at most", standing: "binding" } as const;
      const first = of(({ firstMs }) => firstMs);
      const heap = of(({ heapMb }) => heapMb);
      return {
        measurements: [],
        notes: [
          `${visits.length} visits; the first spans are there after ${formatNumber(first.median)} ms [${formatNumber(first.min)}-${formatNumber(first.max)}]`,
          `the page's JavaScript heap with the trace open: ${formatNumber(heap.median)} MB; load of the machine at each visit: ${visits.map(({ load }) => load.toFixed(1)).join(", ")}`,
        ],
        bars: [
          {
            ...binding,
            what: `until all ${SPANS} spans are there`,
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
            what: "longest task while it is scrolled",
            measured: of(({ scrollingTaskMs }) => scrollingTaskMs),
            limit: 200,
          },
        ],
      };
    });
  },
};

async function makeTrace({ worker }: ConsoleSystem): Promise<string> {
  worker.registerFunction("wide::leaf", () => null);
  worker.registerFunction("wide::root", async () => {
    await fill(SPANS - 1, (at) => worker.call({ function_id: "wide::leaf", payload: at }));
    return null;
  });
  await worker.call({ function_id: "wide::root", payload: null, timeoutMs: FILL_TIMEOUT_MS });
  const answer = await worker.call<{
    readonly spans: readonly { readonly trace_id: string; readonly trace: { readonly span_count: number } }[];
  }>({
    function_id: "engine::traces::list",
    payload: { name: "wide::root", limit: 1 },
  });
  const [root] = answer.spans;
  if (root?.trace.span_count !== SPANS)
    throw new Error(`the engine keeps ${root?.trace.span_count} spans of the trace, not ${SPANS}`);
  return root.trace_id;
}

async function visit({ browser, url }: ConsoleSystem, traceId: string): Promise<Visit> {
  const load = loadNow();
  const measured = await MeasuredPage.open(browser);
  try {
    const firstMs = await measured.visit(
      `${url}/traces/${traceId}`,
      `document.querySelector('[role="treegrid"] [aria-level]') !== null`,
      OPEN_TIMEOUT_MS,
    );
    const openMs = await measured.until(ALL_ROWS, OPEN_TIMEOUT_MS);
    const openingTaskMs = await measured.longestTaskMs();
    await measured.wheel(measured.page.getByRole("treegrid"));
    const scrollingTaskMs = await measured.longestTaskMs();
    return { firstMs, openMs, openingTaskMs, scrollingTaskMs, heapMb: await measured.heapMb(), load };
  } finally {
    await measured.close();
  }
}
