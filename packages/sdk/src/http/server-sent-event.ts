import { checkedOptions, optionNames } from "../names/option-names.ts";

/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** Data of the event. Each line of a string becomes a `data` line. Any other value is sent as JSON. */
  readonly data?: unknown;
  /** Type of the event. If it is absent, browsers dispatch a `message` event. */
  readonly event?: string | undefined;
  /** Id of the event. A client that reconnects sends it as `Last-Event-ID`. */
  readonly id?: string | undefined;
  /** Time that the client waits before it reconnects, in milliseconds. */
  readonly retry?: number | undefined;
  /** A comment, which clients ignore. Regular comments prevent proxies from closing an idle stream. */
  readonly comment?: string | undefined;
}

const members = optionNames("sse", ["data", "event", "id", "retry", "comment"]);

/**
 * Returns the event as text.
 *
 * @throws TypeError in four cases: a type or id contains a line break; an id contains NUL; `retry` is not a whole
 * number of milliseconds; there are unknown members.
 */
export function eventText(given: ServerSentEvent): string {
  const { data, event, id, retry, comment } = checkedOptions(given, members);
  let text = comment === undefined ? "" : lines(comment, ": ");
  if (event !== undefined) text += `event: ${oneLine(event, "event")}\n`;
  if (id !== undefined) text += `id: ${oneLine(id, "id")}\n`;
  if (retry !== undefined) {
    if (!Number.isInteger(retry) || retry < 0)
      throw new TypeError(`retry must be a whole number of milliseconds, not ${String(retry)}`);
    text += `retry: ${retry}\n`;
  }
  if (data !== undefined) {
    const written = typeof data === "string" ? data : (JSON.stringify(data) as string | undefined);
    if (written === undefined) throw new TypeError(`data of an event must be JSON, not a ${typeof data}`);
    text += lines(written, "data: ");
  }
  return `${text}\n`;
}

function lines(text: string, prefix: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => `${prefix}${line}\n`)
    .join("");
}

function oneLine(text: string, what: string): string {
  if (/[\r\n\0]/.test(text)) throw new TypeError(`${what} of an event must not contain line breaks or NUL`);
  return text;
}
