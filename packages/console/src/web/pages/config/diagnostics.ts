import { maskConfig } from "@svc-runtime/protocol/config-mask";
import type { Probe } from "../../../contract/api.ts";
import { call, hello, probes } from "../../lib/api.ts";

/** Functions of the engine whose results are in the bundle. None returns payloads of users. */
const FUNCTIONS = [
  "engine::info",
  "engine::config::effective",
  "engine::health::check",
  "engine::telemetry::status",
  "engine::sampling::rules",
  "engine::alerts::list",
  "queue::list",
] as const;

interface WorkerSummary {
  readonly name: string;
  readonly runtime: string;
  readonly version: string | null;
  readonly kind: string;
  readonly function_count: number;
  readonly connected_at_ms: number;
}

/**
 * Returns a diagnostics bundle for support, as JSON. It contains no secrets, payloads, state or logs. If a part fails
 * to load, its error message is in `not_known`.
 */
export async function diagnostics(browser: Readonly<Record<string, unknown>>): Promise<string> {
  const [console, reached, workers, ...answers] = await Promise.all([
    settled(hello()),
    settled<readonly Probe[]>(probes()),
    settled(
      call<{ readonly workers: readonly WorkerSummary[] }>("engine::workers::list", { include_internal: true }).then(
        ({ workers: all }) => all.map(summaryOf),
      ),
    ),
    ...FUNCTIONS.map((functionId) => settled(call(functionId))),
  ]);
  const engine = Object.fromEntries(FUNCTIONS.map((functionId, at) => [functionId, answers[at]]));
  return `${JSON.stringify(maskConfig({ made_at: new Date().toISOString(), browser, console, probes: reached, workers, engine }), undefined, 2)}\n`;
}

function summaryOf({ name, runtime, version, kind, function_count, connected_at_ms }: WorkerSummary): WorkerSummary {
  return { name, runtime, version, kind, function_count, connected_at_ms };
}

async function settled<Value>(answer: Promise<Value>): Promise<Value | { readonly not_known: string }> {
  try {
    return await answer;
  } catch (error) {
    return { not_known: (error as Error).message };
  }
}
