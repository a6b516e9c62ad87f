import type { IncomingMessage } from "node:http";

/**
 * Maximum number of header lines of a request. Checked by the engine, because Node silently drops further lines, and
 * these may include the length of the body.
 */
export const MAX_HEADERS = 100;

export interface HeadProblem {
  readonly status: number;
  /** Status with its reason phrase, e.g. `400 Bad Request`. */
  readonly statusLine: string;
  readonly message: string;
}

/** Returns a problem of a request's head that Node does not detect, or undefined. */
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
  // Several Host headers are refused, because a proxy may have checked another one of them than Node uses.
  return hosts > 1
    ? { status: 400, statusLine: "400 Bad Request", message: "the request has more than one Host" }
    : undefined;
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === "host";
}
