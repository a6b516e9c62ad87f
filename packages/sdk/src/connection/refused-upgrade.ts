import type { IncomingMessage } from "node:http";
import type { UpgradeRefusal } from "./socket.ts";

const MAX_BODY_BYTES = 8 * 1024;
const MAX_MESSAGE_LENGTH = 500;
/** Maximum wait for the body, in milliseconds. It is short, because the status alone is enough. */
const BODY_TIMEOUT_MS = 1000;

/**
 * Reads the status and the engine's message from the response. Takes at most one second and reads at most 8 KiB. Never
 * rejects.
 */
export async function readRefusal(response: IncomingMessage): Promise<UpgradeRefusal> {
  return { status: response.statusCode ?? 0, message: messageIn(await startOf(response)) };
}

/** Returns a text for users: the status, the engine's message, and what to do. */
export function describeRefusal({ status, message }: UpgradeRefusal): string {
  const hint = status === 401 ? "; check the token (SVC_TOKEN)" : "";
  return `the connection was refused with HTTP ${status}${message === undefined ? "" : `: ${message}`}${hint}`;
}

function startOf(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const finish = (): void => {
      clearTimeout(timer);
      resolve(Buffer.concat(parts).subarray(0, MAX_BODY_BYTES).toString());
    };
    const timer = setTimeout(finish, BODY_TIMEOUT_MS);
    response.on("data", (part: Buffer) => {
      if (bytes >= MAX_BODY_BYTES) return;
      parts.push(part);
      bytes += part.length;
      if (bytes >= MAX_BODY_BYTES) finish();
    });
    for (const event of ["end", "error", "close"] as const) response.on(event, finish);
  });
}

/** Returns the message in the engine's body `{"error":{"code","message"}}`. Returns undefined for any other body. */
function messageIn(body: string): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined;
  }
  const error = memberOf(parsed, "error");
  const message = memberOf(error, "message");
  if (typeof message !== "string" || message === "") return undefined;
  return message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
