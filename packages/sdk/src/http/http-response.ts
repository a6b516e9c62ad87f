export type HttpHeaders = Readonly<Record<string, string | readonly string[]>>;

/** What a function of an `http` trigger may return to say more than a body. */
export interface HttpResponse<Body = unknown> {
  /** 200 to 599. Default 200. */
  readonly status_code?: number | undefined;
  /** A list gives the header several times. */
  readonly headers?: HttpHeaders | undefined;
  /** JSON, unless `headers` name another content type; then a string goes out as it is. */
  readonly body?: Body | undefined;
}

export interface ResponseOptions {
  /** Default 200. */
  readonly status?: number | undefined;
  readonly headers?: HttpHeaders | undefined;
}

/** A response with a JSON body. */
export function json<Body>(body: Body, options: ResponseOptions = {}): HttpResponse<Body> {
  return { status_code: checkedStatus(options.status ?? 200), headers: options.headers ?? {}, body };
}

/** A response that sends the client elsewhere. Default status 302. Throws TypeError for a location that no header can hold and a status that redirects nobody. */
export function redirect(location: string, status: 301 | 302 | 303 | 307 | 308 = 302): HttpResponse<string> {
  if (![301, 302, 303, 307, 308].includes(status)) throw new TypeError(`the status of a redirect must be 301, 302, 303, 307 or 308, not ${String(status)}`);
  if (location === "" || !/^[\x21-\x7e]+$/.test(location)) {
    throw new TypeError(`a location must be printable ASCII without blanks, not ${JSON.stringify(location)}; encodeURI helps`);
  }
  return { status_code: status, headers: { location, "content-type": "text/plain; charset=utf-8" }, body: "" };
}

/** The status, if an answer may have it. Throws TypeError. */
export function checkedStatus(status: number): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new TypeError(`the status of a response must be a whole number from 200 to 599, not ${String(status)}`);
}
