import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { type ClientOptions, WebSocket } from "ws";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Sends a request with any headers, including those that `fetch` sets itself: Host, Origin, Sec-Fetch-Site. */
export async function send(
  url: string,
  options: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  } = {},
): Promise<HttpAnswer> {
  const { body, headers = {}, method = "GET" } = options;
  const sent = request(url, { method, headers: { connection: "close", ...headers }, agent: false });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, body: text };
}

/** Returns the result of a WebSocket handshake: `open`, or the HTTP status of the refusal. Closes an open socket. */
export async function handshake(
  url: string,
  { protocols = [], ...options }: ClientOptions & { readonly protocols?: string[] } = {},
): Promise<"open" | number> {
  const socket = new WebSocket(url, protocols, options);
  socket.on("error", () => {});
  try {
    return await new Promise((resolve, reject) => {
      socket.once("open", () => resolve("open"));
      socket.once("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
      socket.once("close", () => reject(new Error(`the connection to ${url} was closed without an answer`)));
    });
  } finally {
    socket.terminate();
  }
}
