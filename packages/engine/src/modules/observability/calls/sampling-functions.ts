import { z } from "zod";
import type { ModuleContext } from "../../../kernel/module.ts";
import type { ObservabilityConfig } from "../config.ts";

/** `engine::sampling::rules`: which traces and logs are kept. */
export function provideSamplingRules(
  { provideFunction, clock }: Pick<ModuleContext<unknown>, "provideFunction" | "clock">,
  config: () => Pick<ObservabilityConfig, "sampling" | "sampling_ratio" | "logs_sampling_ratio">,
): void {
  provideFunction({
    id: "engine::sampling::rules",
    summary: "Which traces and logs are kept",
    input: () => z.looseObject({}),
    handle: () => {
      const { sampling, sampling_ratio, logs_sampling_ratio } = config();
      return {
        traces: {
          default_ratio: sampling?.default ?? sampling_ratio,
          rules: sampling?.rules ?? [],
          parent_based: sampling?.parent_based ?? true,
          rate_limit: sampling?.rate_limit ?? null,
          ...keepOptionsOfConfig(sampling),
        },
        logs: { sampling_ratio: logs_sampling_ratio },
        timestamp: clock.now(),
      };
    },
  });
}

function keepOptionsOfConfig(sampling: ObservabilityConfig["sampling"]): { readonly keep_errors: boolean; readonly keep_slow_ms: number } {
  const { keepErrors, keepSlowMs } = keepOptionsOf(sampling);
  return { keep_errors: keepErrors, keep_slow_ms: keepSlowMs };
}

/** Defaults are those of the block, which may be left out as a whole. */
export function keepOptionsOf(sampling: ObservabilityConfig["sampling"]): { readonly keepErrors: boolean; readonly keepSlowMs: number } {
  return { keepErrors: sampling?.keep_errors ?? true, keepSlowMs: sampling?.keep_slow_ms ?? 1_000 };
}
