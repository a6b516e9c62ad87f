import { expect, it } from "vitest";
import { isExposed } from "./bind-rule.ts";
import type { LoadedConfig } from "./types.ts";

const at = (host: string): { host: string; port: number } => ({ host, port: 0 });

it.each([
  [false, {}],
  [true, { mode: "production" }],
  [true, { http: "0.0.0.0" }],
  [true, { realtime: "::" }],
  [true, { bridge: "192.0.2.1" }],
  [true, { further: "192.0.2.1" }],
])(
  "takes an engine for exposed (%s) by its mode and by every listener: %j",
  (exposed, changed: Record<string, string>) => {
    const engine = {
      mode: changed.mode ?? "development",
      bridge: at(changed.bridge ?? "127.0.0.1"),
      bridges: changed.further === undefined ? [] : [{ address: at(changed.further) }],
    };
    const config = { engine, http: at(changed.http ?? "localhost"), realtime: at(changed.realtime ?? "::1") };
    expect(isExposed(config as unknown as LoadedConfig)).toBe(exposed);
  },
);
