import type { Hello } from "../../contract/api.ts";
import type { EngineState } from "../../contract/live.ts";

/**
 * Returns the address (`HOST:PORT`) of each port of the engine to which the console is not connected. Returns an empty
 * text if nothing is known.
 */
export function missingAddresses(
  engine: EngineState | undefined,
  urls: Hello["engine"] | undefined,
): readonly string[] {
  if (engine === undefined || urls === undefined) return [];
  const isRealtimeUp = engine.realtime === "connected" || engine.realtime === "refused";
  return [
    ...(engine.bridge === "connected" ? [] : [new URL(urls.bridge).host]),
    ...(isRealtimeUp ? [] : [new URL(urls.realtime).host]),
  ];
}
