import { checkedOptions, optionNames } from "../names/option-names.ts";

export type HttpHeaders = Readonly<Record<string, string | readonly string[]>>;

/** A response with status and headers. The function of an `http` trigger may return it. */
export interface HttpResponse<Body = unknown> {
  /** 200 to 599. Default 200. */
  readonly status_code?: number | undefined;
  /** Headers by name. If a value is a list, the header is sent once per item. */
  readonly headers?: HttpHeaders | undefined;
  /** Body, sent as JSON. If `headers` set another content type, a string is sent unchanged. */
  readonly body?: Body | undefined;
}

export interface ResponseOptions {
  /** Default 200. */
  readonly status?: number | undefined;
  readonly headers?: HttpHeaders | undefined;
}

const responseOptions = optionNames("json", ["status", "headers"]);

/**
 * Returns a response with a JSON body.
 *
 * @throws TypeError for a status that a response cannot have, and for unknown options.
 */
export function json<Body>(body: Body, options: ResponseOptions = {}): HttpResponse<Body> {
  const { status = 200, headers = {} } = checkedOptions(options, responseOptions);
  return { status_code: checkedStatus(status), headers, body };
}

/**
 * Returns a redirect. Default status 302.
 *
 * @throws TypeError for a location that is not valid in a header, and for a status that is not a redirect.
 */
export function redirect(location: string, status: 301 | 302 | 303 | 307 | 308 = 302): HttpResponse<string> {
  if (![301, 302, 303, 307, 308].includes(status))
    throw new TypeError(`the status of a redirect must be 301, 302, 303, 307 or 308, not ${String(status)}`);
  if (location === "" || !/^[\x21-\x7e]+$/.test(location)) {
    throw new TypeError(
      `a location must be printable ASCII without spaces, not ${JSON.stringify(location)}; encodeURI helps`,
    );
  }
  return { status_code: status, headers: { location, "content-type": "text/plain; charset=utf-8" }, body: "" };
}

/**
 * Returns the given status if it is valid.
 *
 * @throws TypeError if a response cannot have this status.
 */
export function checkedStatus(status: number): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new TypeError(`the status of a response must be a whole number from 200 to 599, not ${String(status)}`);
}
