import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Suffix of the key when the server hashes it for its answer. RFC 6455, section 1.3. */
const KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** A valid key: 16 bytes in base64. */
const KEY = /^[+/0-9A-Za-z]{22}==$/;
const VERSION = "13";
/** A token, as HTTP defines it. RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export interface HandshakeProblem {
  readonly status: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns why the request is not a WebSocket handshake, or undefined. RFC 6455, section 4.2.1. */
export function handshakeProblem({ method, headers }: IncomingMessage): HandshakeProblem | undefined {
  if (method !== "GET")
    return {
      status: "405 Method Not Allowed",
      message: "a WebSocket begins with a GET request",
      headers: { allow: "GET" },
    };
  if (headers.upgrade?.toLowerCase() !== "websocket")
    return { status: "400 Bad Request", message: "the Upgrade header must be websocket" };
  if (!KEY.test(headers["sec-websocket-key"] ?? ""))
    return { status: "400 Bad Request", message: "the Sec-WebSocket-Key header must be 16 bytes in base64" };
  if (headers["sec-websocket-version"] !== VERSION) {
    return {
      status: "400 Bad Request",
      message: `the Sec-WebSocket-Version header must be ${VERSION}`,
      headers: { "sec-websocket-version": VERSION },
    };
  }
  if (offeredProtocols(headers["sec-websocket-protocol"]) === undefined) {
    return {
      status: "400 Bad Request",
      message: "the Sec-WebSocket-Protocol header must be a list of different names",
    };
  }
  return undefined;
}

/** Returns the response that accepts the handshake, without extensions. RFC 6455, section 4.2.2. */
export function handshakeAnswer({ headers }: IncomingMessage, isAcceptable: (protocol: string) => boolean): string {
  const protocol = offeredProtocols(headers["sec-websocket-protocol"])?.find(isAcceptable);
  const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}${KEY_SUFFIX}`).digest("base64");
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    "\r\n",
  ].join("\r\n");
}

/** Returns the protocols that the client offers, or undefined if the header is malformed. */
function offeredProtocols(header: string | undefined): readonly string[] | undefined {
  if (header === undefined) return [];
  const names = header.split(",").map((name) => name.trim());
  return names.every((name) => TOKEN.test(name)) && new Set(names).size === names.length ? names : undefined;
}
