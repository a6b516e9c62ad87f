import { z } from "zod";
import type { Logger } from "../../kernel/logger.ts";
import type { ModuleContext } from "../../kernel/module.ts";

/** What one record may hold, in characters; the rest is cut off and the record says so. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_NAME_CHARACTERS = 256;

const input = z.object({
  message: z.string(),
  trace_id: z.string().nullish(),
  span_id: z.string().nullish(),
  data: z.unknown().optional(),
  service_name: z.string().nullish(),
});

/** The logger has no level below debug. */
const LEVELS = { info: "info", warn: "warn", error: "error", debug: "debug", trace: "debug" } as const satisfies Record<string, keyof Logger>;

/** `engine::log::*`: a worker writes into the engine's log. */
export function provideLog({ provideFunction, log }: Pick<ModuleContext<unknown>, "provideFunction" | "log">): void {
  for (const [name, level] of Object.entries(LEVELS) as [keyof typeof LEVELS, (typeof LEVELS)[keyof typeof LEVELS]][]) {
    provideFunction({
      id: `engine::log::${name}`,
      summary: `Writes a line of level ${name} into the engine's log`,
      input,
      handle: ({ message, trace_id, span_id, data, service_name }, { caller }) => {
        const text = bounded(message, MAX_CHARACTERS);
        const attributes = data === undefined || data === null ? undefined : bounded(JSON.stringify(data), MAX_CHARACTERS);
        log[level]("a worker logs", {
          service: bounded(service_name ?? "unknown", MAX_NAME_CHARACTERS).text,
          ...(caller === undefined ? {} : { worker: caller.name, workerId: caller.worker_id }),
          text: text.text,
          ...(attributes === undefined ? {} : { data: attributes.cut ? attributes.text : data }),
          ...(trace_id ? { traceId: bounded(trace_id, MAX_NAME_CHARACTERS).text } : {}),
          ...(span_id ? { spanId: bounded(span_id, MAX_NAME_CHARACTERS).text } : {}),
          ...(text.cut || attributes?.cut ? { truncated: true } : {}),
        });
      },
    });
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what could steer a terminal, or turn its writing around, is made visible
const UNSHOWN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

function bounded(text: string, limit: number): { readonly text: string; readonly cut: boolean } {
  const cut = text.length > limit;
  const shown = (cut ? text.slice(0, limit) : text).replace(UNSHOWN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return { text: shown, cut };
}
