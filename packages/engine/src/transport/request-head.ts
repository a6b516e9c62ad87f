import type { IncomingMessage } from "node:http";

/**
 * Maximum number of header lines of a request (reliability 1.4). Node's own limit would silently drop the rest,
 * including perhaps the body's length.
 */
export const MAX_HEADERS = 100;

export interface HeadProblem {
  readonly status: number;
  /** Status with its reason phrase, e.g. `400 Bad Request`. */
  readonly statusLine: string;
  readonly message: string;
}

/** Returns what is wrong with a request's head that Node accepts, or undefined. */
export function headProblem({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">): HeadProblem | undefined {
  if (rawHeaders.length > MAX_HEADERS * 2) {
    return {
      status: 431,
      statusLine: "431 Request Header Fields Too Large",
      message: `the request has more than ${MAX_HEADERS} header lines`,
    };
  }
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHost(rawHeaders[at] as string)) hosts++;
  // A proxy in front may have checked the other one.
  return hosts > 1
    ? { status: 400, statusLine: "400 Bad Request", message: "the request has more than one Host" }
    : undefined;
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === "host";
}
