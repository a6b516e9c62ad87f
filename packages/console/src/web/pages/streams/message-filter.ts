import { isConnectionEvent, isSystemStream, type MonitorMessage } from "./message.ts";

/** Filter of the page. It does not include the direction, because the tabs show counts for both directions. */
interface MessageFilter {
  /** A text, or a regular expression between slashes. Upper and lower case are not distinguished. */
  readonly q?: string | undefined;
  readonly stream?: string | undefined;
  readonly group?: string | undefined;
  readonly type?: string | undefined;
  /** True if messages of the engine's own streams are included. */
  readonly system?: boolean | undefined;
  /** True if connection messages are included (joins, heartbeats, …). */
  readonly events?: boolean | undefined;
}

export type MessageTest = (message: MonitorMessage) => boolean;

/** Returns a function that tests a message. Throws SyntaxError if the regular expression is invalid. */
export function messageTest({
  q = "",
  stream,
  group,
  type,
  system = false,
  events = false,
}: MessageFilter): MessageTest {
  const searched = textTest(q);
  return (message) =>
    (system || !isSystemStream(message.stream)) &&
    (events || !isConnectionEvent(message)) &&
    (stream === undefined || message.stream === stream) &&
    (group === undefined || message.group === group) &&
    (type === undefined || message.type === type) &&
    searched(message);
}

function textTest(q: string): MessageTest {
  const regex = /^\/(.+)\/$/s.exec(q)?.[1];
  if (regex !== undefined) {
    const pattern = new RegExp(regex, "i");
    return ({ payload }) => pattern.test(payload);
  }
  if (q === "") return () => true;
  const wanted = q.toLowerCase();
  return ({ payload, stream, group, type, connection_id }) =>
    [payload, stream ?? "", group ?? "", type, connection_id].some((text) => text.toLowerCase().includes(wanted));
}
