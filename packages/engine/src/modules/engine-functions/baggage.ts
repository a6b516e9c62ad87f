import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";

/** Provides `engine::baggage::*`: the baggage of the call. */
export function provideBaggage({ provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">): void {
  provideFunction({
    id: "engine::baggage::get",
    summary: "One entry of the call's baggage",
    input: z.object({ key: z.string() }),
    handle: ({ key }, { baggage }) => ({ value: entriesOf(baggage).get(key) ?? null }),
  });
  provideFunction({
    id: "engine::baggage::get_all",
    summary: "The call's baggage",
    input: z.object({}),
    handle: (_input, { baggage }) => ({ baggage: Object.fromEntries(entriesOf(baggage)) }),
  });
  provideFunction({
    id: "engine::baggage::set",
    summary: "Has no effect: the caller sets the baggage of a call",
    input: z.object({ key: z.string(), value: z.unknown() }),
    handle: () => ({
      success: true,
      note: "baggage travels from caller to callee; set it in the context of the call instead",
    }),
  });
}

/** Parses a W3C baggage header: `key=value;property,key2=value2`, values percent-encoded. */
function entriesOf(header: string | undefined): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  for (const member of header?.split(",") ?? []) {
    const [pair = ""] = member.split(";");
    const at = pair.indexOf("=");
    if (at > 0) entries.set(pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim()));
  }
  return entries;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
