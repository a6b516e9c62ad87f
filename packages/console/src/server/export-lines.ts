import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { CallError, type ChannelRef } from "@svc-runtime/protocol";
import { exportRequestSchema } from "../contract/api.ts";
import type { EngineLink } from "./engine-link.ts";
import { parseJson } from "./json-body.ts";
import { sendData } from "./respond.ts";

/** Time after which a page that has stopped reading is disconnected, in milliseconds. */
const STALLED_MS = 60_000;

/**
 * Streams the lines of an export while the engine writes them. If there is nothing to export, responds with
 * `{"ok":true,"data":null}`. If the export fails, aborts the response.
 */
export async function sendExport(body: string, response: ServerResponse, link: EngineLink): Promise<void> {
  const asked = exportRequestSchema.safeParse(parseJson(body));
  if (!asked.success)
    throw new CallError(
      "invalid_input",
      'expected {"function_id": "engine::logs::export" or "engine::traces::export", "payload": {...}}',
    );
  const { lines } = JSON.parse(await link.call(asked.data.function_id, JSON.stringify(asked.data.payload))) as {
    readonly lines: ChannelRef | null;
  };
  if (lines === null) {
    sendData(response, "null");
    return;
  }
  const reader = link.worker.openChannel({ ...lines, direction: "read" });
  response.once("close", () => reader.cancel());
  response.writeHead(200, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  try {
    for await (const item of reader) {
      if (!response.write(typeof item === "string" ? item : Buffer.from(item))) await drained(response);
    }
    response.end();
  } catch {
    // The headers were already sent, so aborting the body is the only way to show that it is incomplete.
    response.destroy();
  }
}

async function drained(response: ServerResponse): Promise<void> {
  await once(response, "drain", { signal: AbortSignal.timeout(STALLED_MS) });
}
