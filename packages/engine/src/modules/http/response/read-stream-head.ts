import type { ChannelItem, ChannelReader } from "../../../kernel/module.ts";
import { withoutHeader } from "./header-list.ts";
import { readResponseHeaders } from "./route-response.ts";

/** The start of a streamed response. */
export interface StreamHead {
  readonly status: number;
  readonly headers: readonly string[];
  /** Names of headers that the function set but that are not sent. */
  readonly dropped: readonly string[];
  /** Length of the whole body, if the function declared it. */
  readonly length: number | undefined;
  /** The first piece of the body; undefined if the function ended the stream without one. */
  readonly first: Buffer | undefined;
  /** True if the function set a status or a header. */
  readonly isExplicit: boolean;
}

/** Maximum length of a control message, in characters. */
const MAX_CONTROL_LENGTH = 64 * 1024;

/**
 * Reads what a function sends before its body: text items that set status and headers, up to the first binary item or
 * the end of the stream. Returns undefined if the stream was aborted before the body began.
 */
export async function readStreamHead(reader: ChannelReader): Promise<StreamHead | undefined> {
  let status = 200;
  let headers: string[] = [];
  const dropped: string[] = [];
  let length: number | undefined;
  let isExplicit = false;
  for (;;) {
    const item = await reader.read();
    if (item === undefined || item.kind === "binary") {
      if (item === undefined && reader.ended !== "finished") return undefined;
      return { status, headers, dropped, length, first: item?.bytes, isExplicit };
    }
    const control = controlOf(item);
    if (control === undefined) continue;
    isExplicit = true;
    if (control.type === "set_status") {
      if (isFinalStatus(control.status_code)) status = control.status_code;
      continue;
    }
    const given = control.headers;
    if (typeof given !== "object" || given === null || Array.isArray(given)) continue;
    length = lengthIn(given) ?? length;
    for (const name of Object.keys(given)) headers = withoutHeader(headers, name);
    const read = readResponseHeaders(given);
    headers.push(...read.headers);
    // A valid Content-Length counts as kept, because it is checked against the body. All other framing headers are
    // dropped.
    dropped.push(...read.dropped.filter((name) => name.toLowerCase() !== "content-length" || length === undefined));
  }
}

interface Control {
  readonly type: "set_status" | "set_headers";
  readonly status_code?: unknown;
  readonly headers?: unknown;
}

/** Returns undefined for an unknown text item, which is ignored as in the published engine. */
function controlOf(item: ChannelItem): Control | undefined {
  if (item.kind !== "text" || item.text.length > MAX_CONTROL_LENGTH) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(item.text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { type } = value as Partial<Control>;
  return type === "set_status" || type === "set_headers" ? (value as Control) : undefined;
}

function isFinalStatus(status: unknown): status is number {
  return typeof status === "number" && Number.isInteger(status) && status >= 200 && status <= 599;
}

function lengthIn(headers: object): number | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() === "content-length" && /^[0-9]{1,15}$/.test(String(value))) return Number(value);
  }
  return undefined;
}
