import { connectStreams, silentLogger } from "@svc-runtime/sdk";
import { type ConsoleSystem, fill, loadNow, withConsole } from "../console/console-system.ts";
import { MeasuredPage } from "../console/measured-page.ts";
import { pause } from "../ports.ts";
import { spread } from "../statistics.ts";
import { formatNumber } from "../table.ts";
import type { Scenario } from "./scenario.ts";

const PER_SECOND = 2_000;
const SECONDS = 60;
const QUICK_SECONDS = 5;
const TICK_MS = 100;
const TIMEOUT_MS = 60_000;
const GROUP = { stream_name: "flood", group_id: "all" } as const;
/** The page's counters, by name. */
const COUNTERS = `Object.fromEntries([...document.querySelectorAll('[aria-label="Counters"] > div')].map((each) =>
  [each.querySelector("dt").innerText, Number(each.querySelector("dd").innerText.replaceAll(",", ""))]))`;
const JOINED = `/\\blive\\b/i.test(document.querySelector('[aria-label="Subscriptions"]')?.innerText)`;

type Counts = Readonly<Record<"inbound" | "outbound", number>>;
interface Told {
  readonly totals?: Counts;
  readonly messages: readonly { readonly stream: string | null }[];
}

interface Visit {
  readonly shown: number;
  readonly perSecond: number;
  readonly slowestSecond: number;
  readonly longestTaskMs: number;
  readonly heapMb: number;
  readonly load: number;
}

/**
 * Measures the console's monitor of streams with 2,000 messages per second. Its counters must be equal to those of the
 * engine.
 */
export const consoleStreams: Scenario = {
  title: `The console: ${PER_SECOND} stream messages a second`,
  rows: [28],
  run(context) {
    return withConsole(context, { name: "console-streams", modules: [{ name: "svc-stream" }] }, async (system) => {
      const seconds = context.options.quick ? QUICK_SECONDS : SECONDS;
      const visits: Visit[] = [];
      for (let round = 0; round < context.options.rounds; round++) visits.push(await visit(system, seconds));
      const of = (value: (visit: Visit) => number) => spread(visits.map(value));
      const binding = { row: 28, standing: "binding" } as const;
      const heap = of(({ heapMb }) => heapMb);
      return {
        measurements: [],
        notes: [
          `${visits.length} visits of ${seconds} s; at each the page counted what the engine counted, to the message`,
          `the page's JavaScript heap at the end: ${formatNumber(heap.median)} MB; load of the machine at each visit: ${visits.map(({ load }) => load.toFixed(1)).join(", ")}`,
        ],
        bars: [
          {
            ...binding,
            what: "frames, at the mean",
            unit: "/s",
            sense: "at least",
            measured: of(({ perSecond }) => perSecond),
            limit: 50,
          },
          {
            ...binding,
            standing: "quoted",
            what: "frames in the slowest second",
            unit: "/s",
            sense: "at least",
            measured: of(({ slowestSecond }) => slowestSecond),
            limit: 30,
          },
          {
            ...binding,
            standing: "quoted",
            what: "longest task",
            unit: "ms",
            sense: "at most",
            measured: of(({ longestTaskMs }) => longestTaskMs),
            limit: 200,
          },
          {
            ...binding,
            standing: "quoted",
            what: "of the messages that were shown one by one",
            unit: "x",
            sense: "at least",
            measured: of(({ shown }) => shown),
            limit: 1,
          },
        ],
      };
    });
  },
};

async function visit({ browser, url, worker, realtimePort }: ConsoleSystem, seconds: number): Promise<Visit> {
  const load = loadNow();
  const sent = seconds * PER_SECOND;
  const measured = await MeasuredPage.open(browser);
  const streams = connectStreams({ url: `ws://127.0.0.1:${realtimePort}`, logger: silentLogger });
  // The engine's counters, for comparison with the page's.
  let engine: Counts = { inbound: 0, outbound: 0 };
  let flood = 0;
  streams.subscribe<unknown>(
    { streamName: "svc.stream.messages", groupId: "all" },
    {
      onEvent: (update) => {
        if (update.type !== "event") return;
        const { totals, messages } = (update.event as unknown as { readonly data: Told }).data;
        if (totals !== undefined) engine = totals;
        flood += messages.filter(({ stream }) => stream === GROUP.stream_name).length;
      },
    },
  );
  try {
    const { page } = measured;
    await measured.visit(`${url}/streams?sub=flood:all&stream=flood`, JOINED, TIMEOUT_MS);
    const counters = () => page.evaluate(COUNTERS) as Promise<Readonly<Record<string, number>>>;
    /** Returns the counters of the page and of the engine, at a time when no message is in flight. */
    const settled = async (): Promise<{ readonly page: Counts; readonly engine: Counts }> => {
      for (let before = -1; ; ) {
        await pause(5 * TICK_MS);
        const { Inbound = 0, Outbound = 0 } = await counters();
        if (engine.outbound === before) return { page: { inbound: Inbound, outbound: Outbound }, engine };
        before = engine.outbound;
      }
    };
    const begun = await settled();
    const floodBefore = flood;
    await measured.longestTaskMs();
    await page.evaluate(
      `window.frames_ = []; (function tick() { window.frames_.push(performance.now()); requestAnimationFrame(tick); })()`,
    );
    for (let burst = 0; burst < seconds * (1_000 / TICK_MS); burst++) {
      const begunMs = performance.now();
      await fill((PER_SECOND * TICK_MS) / 1_000, (at) => send(worker, at));
      await pause(Math.max(0, begunMs + TICK_MS - performance.now()));
    }
    const frames = (await page.evaluate("window.frames_.slice()")) as readonly number[];
    const longestTaskMs = await measured.longestTaskMs();
    const ended = await settled();
    for (const direction of ["inbound", "outbound"] as const) {
      const [byPage, byEngine] = [
        ended.page[direction] - begun.page[direction],
        ended.engine[direction] - begun.engine[direction],
      ];
      if (byPage !== byEngine)
        throw new Error(`the page counted ${byPage} ${direction} messages, the engine ${byEngine}`);
    }
    if (ended.engine.outbound - begun.engine.outbound < sent)
      throw new Error(`the engine counted fewer outbound messages than the ${sent} that were sent`);
    return {
      shown: (flood - floodBefore) / sent,
      ...rates(frames),
      longestTaskMs,
      heapMb: await measured.heapMb(),
      load,
    };
  } finally {
    await streams.close();
    await measured.close();
  }
}

function send(worker: ConsoleSystem["worker"], at: number): Promise<unknown> {
  return worker.call({
    function_id: "stream::send",
    payload: { ...GROUP, type: "order", data: { at, text: "packed and on its way" } },
  });
}

/** Computes rates from the start times of frames. */
function rates(frames: readonly number[]): Pick<Visit, "perSecond" | "slowestSecond"> {
  const first = frames[0] as number;
  const seconds = Math.floor(((frames.at(-1) as number) - first) / 1_000);
  const each = new Array<number>(seconds).fill(0);
  for (const at of frames) {
    const second = Math.floor((at - first) / 1_000);
    if (second < seconds) each[second] = (each[second] as number) + 1;
  }
  return { perSecond: each.reduce((sum, count) => sum + count, 0) / seconds, slowestSecond: Math.min(...each) };
}
