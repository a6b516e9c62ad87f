/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** A string goes out as it is, each line as a `data` line; any other value as JSON. */
  readonly data?: unknown;
  /** The event's type; browsers dispatch `message` when it is absent. */
  readonly event?: string | undefined;
  /** Sent back as `Last-Event-ID` when the client comes again. */
  readonly id?: string | undefined;
  /** How long the client waits before it comes again, in milliseconds. */
  readonly retry?: number | undefined;
  /** Passed over by clients; a comment now and then keeps proxies from closing an idle stream. */
  readonly comment?: string | undefined;
}

/** The event as text. Throws TypeError for a type or id with a line break, an id with NUL, and a retry that is no number of milliseconds. */
export function eventText({ data, event, id, retry, comment }: ServerSentEvent): string {
  let text = comment === undefined ? "" : lines(comment, ": ");
  if (event !== undefined) text += `event: ${oneLine(event, "event")}\n`;
  if (id !== undefined) text += `id: ${oneLine(id, "id")}\n`;
  if (retry !== undefined) {
    if (!Number.isInteger(retry) || retry < 0) throw new TypeError(`retry must be a whole number of milliseconds, not ${String(retry)}`);
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
  if (/[\r\n\0]/.test(text)) throw new TypeError(`${what} of an event may hold neither line breaks nor NUL`);
  return text;
}
