import { z } from "zod";
import type { RealtimeSocket } from "../../kernel/module.ts";
import { type StreamEvent, SYSTEM_GROUP, SYSTEM_STREAMS, type SystemStream, type SystemStreams } from "./system-streams.ts";

const subscription = z.object({
  subscriptionId: z.string().min(1).max(256),
  streamName: z.string().min(1).max(256),
  groupId: z.string().min(1).max(256),
  id: z.string().min(1).max(1024).nullish(),
});
const clientMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("join"), data: subscription }),
  z.object({ type: z.literal("leave"), data: subscription }),
]);
type Subscription = z.output<typeof subscription>;

/** Above this a client does not keep up and is closed with 4008, in bytes; it may join again and starts from a fresh snapshot. */
const MAX_BUFFERED_BYTES = 1024 * 1024;
const MAX_SUBSCRIPTIONS = 100;
const CLOSE_TOO_SLOW = 4008;

/** Serves one client: joins, leaves, and the events of what it joined. */
export function serveClient(socket: RealtimeSocket, streams: SystemStreams): void {
  const joined = new Map<string, Subscription>();
  const sendTo = (stream: string, id: string | null, event: { readonly type: string; readonly data: unknown }): void => {
    if (socket.bufferedBytes > MAX_BUFFERED_BYTES) {
      socket.close(CLOSE_TOO_SLOW, "the client does not keep up");
      return;
    }
    socket.send(JSON.stringify({ type: "stream", timestamp: streams.now(), streamName: stream, groupId: SYSTEM_GROUP, id, event }));
  };
  const refuse = (code: string, message: string): void => {
    if (socket.bufferedBytes > MAX_BUFFERED_BYTES) socket.close(CLOSE_TOO_SLOW, "the client does not keep up");
    else socket.send(JSON.stringify({ type: "error", data: { code, message } }));
  };

  const unsubscribe = streams.subscribe((event: StreamEvent) => {
    for (const wanted of joined.values()) {
      if (wanted.streamName !== event.stream || (wanted.id ?? event.id) !== event.id) continue;
      sendTo(event.stream, event.id, { type: event.type, data: event.data });
      // One message serves all of a client's subscriptions that match.
      break;
    }
  });
  socket.onClose(unsubscribe);
  socket.onMessage((text) => {
    if (text.trim() === "") return;
    const message = read(text);
    if ("problem" in message) {
      refuse("invalid_message", message.problem);
      return;
    }
    const { type, data } = message;
    if (type === "leave") {
      joined.delete(data.subscriptionId);
      return;
    }
    if (!SYSTEM_STREAMS.includes(data.streamName as SystemStream) || data.groupId !== SYSTEM_GROUP) {
      refuse(
        "NOT_FOUND",
        `there is no stream ${data.streamName} with group ${data.groupId}; here are ${SYSTEM_STREAMS.join(", ")}, each with group ${SYSTEM_GROUP}`,
      );
      return;
    }
    if (!joined.has(data.subscriptionId) && joined.size >= MAX_SUBSCRIPTIONS) {
      refuse("overloaded", `a connection may have ${MAX_SUBSCRIPTIONS} subscriptions`);
      return;
    }
    joined.set(data.subscriptionId, data);
    sendTo(data.streamName, data.id ?? null, { type: "sync", data: streams.snapshot(data.streamName as SystemStream, data.id ?? undefined) });
  });
}

function read(text: string): z.output<typeof clientMessage> | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `the message is not JSON: ${(error as Error).message}` };
  }
  const parsed = clientMessage.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  return {
    problem: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "malformed"}; expected {"type":"join","data":{"subscriptionId","streamName","groupId"}}`,
  };
}
