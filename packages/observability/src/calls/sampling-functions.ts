import type { ModuleContext } from "@svc-runtime/engine/module";
import { z } from "zod";
import type { ObservabilityConfig } from "../config.ts";

/** Provides `engine::sampling::rules`, which returns the sampling settings of traces and logs. */
export function provideSamplingRules(
  { provideFunction, clock }: Pick<ModuleContext<unknown>, "provideFunction" | "clock">,
  config: () => Pick<ObservabilityConfig, "sampling" | "sampling_ratio" | "logs_sampling_ratio">,
): void {
  provideFunction({
    id: "engine::sampling::rules",
    summary: "Sampling settings of traces and logs",
    input: () => z.looseObject({}),
    handle: () => {
      const { sampling, sampling_ratio, logs_sampling_ratio } = config();
      const { keepErrors, keepSlowMs } = keepOptionsOf(sampling);
      return {
        traces: {
          default_ratio: sampling?.default ?? sampling_ratio,
          rules: sampling?.rules ?? [],
          parent_based: sampling?.parent_based ?? true,
          rate_limit: sampling?.rate_limit ?? null,
          keep_errors: keepErrors,
          keep_slow_ms: keepSlowMs,
        },
        logs: { sampling_ratio: logs_sampling_ratio },
        timestamp: clock.now(),
      };
    },
  });
}

/** Returns the options of tail-based sampling; the defaults if the config has no `sampling` block. */
export function keepOptionsOf(sampling: ObservabilityConfig["sampling"]): {
  readonly keepErrors: boolean;
  readonly keepSlowMs: number;
} {
  return { keepErrors: sampling?.keep_errors ?? true, keepSlowMs: sampling?.keep_slow_ms ?? 1_000 };
}
