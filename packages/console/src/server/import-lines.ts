import { CallError } from "@svc-runtime/protocol";
import { importRequestSchema } from "../contract/api.ts";
import type { EngineLink } from "./engine-link.ts";
import { parseJson } from "./json-body.ts";

/** Imports the lines of the request into the engine. Returns the engine's result as JSON. */
export async function importLines(body: string, link: EngineLink, signal: AbortSignal): Promise<string> {
  const asked = importRequestSchema.safeParse(parseJson(body));
  if (!asked.success) {
    const expected =
      '{"function_id": "engine::logs::import" or "engine::traces::import", "format": ..., "lines": [...]}';
    throw new CallError("invalid_input", `expected ${expected}`);
  }
  const { function_id: functionId, format, lines } = asked.data;
  const { writer, readerRef } = await link.worker.createChannel();
  const abort = (): void => writer.abort("the page closed the request");
  signal.addEventListener("abort", abort, { once: true });
  try {
    const answer = link.call(functionId, JSON.stringify({ lines: readerRef, format }), { signal });
    // If the call fails, sending fails too, because the engine closes the channel. So this error is ignored.
    const sent = send(writer, lines).catch(() => undefined);
    const text = await answer;
    await sent;
    return text;
  } catch (thrown) {
    writer.abort("the import failed");
    throw thrown;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function send(
  writer: { send(text: string): Promise<void>; end(): Promise<void> },
  lines: readonly string[],
): Promise<void> {
  for (const line of lines) await writer.send(`${line}\n`);
  await writer.end();
}
