import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

const COOKIE = "svc_console";
const PAGE_TOKEN_SUBPROTOCOL = "svc.console.";

/** How a request stands: `welcome`, with the cookie to set where it has just logged in; `stranger` without credentials; `wrong` ones. */
export type Login = { readonly kind: "welcome"; readonly setCookie?: string } | { readonly kind: "stranger" } | { readonly kind: "wrong" };

/**
 * Who may use the console. On loopback everybody on this machine; the page gets the token of this run in its HTML and sends it with each request, so that
 * no other page can. Off loopback the HTML itself is for those who present the engine's token: by Basic (any user), Bearer or `?token=`; a cookie
 * then stands for it until the console is started again.
 */
export class Access {
  /** In the page's HTML. */
  readonly pageToken = randomBytes(32).toString("base64url");
  readonly #session = randomBytes(32).toString("base64url");
  readonly #token: string | undefined;

  /** `requiredToken`: what strangers must present; undefined where none is asked for. */
  constructor(requiredToken: string | undefined) {
    this.#token = requiredToken;
  }

  get isRequired(): boolean {
    return this.#token !== undefined;
  }

  login(request: Pick<IncomingMessage, "headers">, query: URLSearchParams): Login {
    if (this.#token === undefined) return { kind: "welcome" };
    if (isSameSecret(cookieOf(request.headers.cookie), this.#session)) return { kind: "welcome" };
    const given = query.get("token") ?? credentialOf(request.headers.authorization);
    if (given === undefined) return { kind: "stranger" };
    if (!isSameSecret(given, this.#token)) return { kind: "wrong" };
    return { kind: "welcome", setCookie: `${COOKIE}=${this.#session}; Path=/; HttpOnly; SameSite=Strict` };
  }

  /** Whether the page of this run sent the request. */
  isPage(request: Pick<IncomingMessage, "headers">): boolean {
    const given = request.headers["x-svc-console"];
    return typeof given === "string" && isSameSecret(given, this.pageToken);
  }

  /** Whether the page of this run opens the socket: browsers let pages set no header there, but a subprotocol. */
  isPageSocket(request: Pick<IncomingMessage, "headers">): boolean {
    const protocol = request.headers["sec-websocket-protocol"];
    return protocol?.startsWith(PAGE_TOKEN_SUBPROTOCOL) === true && isSameSecret(protocol.slice(PAGE_TOKEN_SUBPROTOCOL.length), this.pageToken);
  }
}

/** In a time that tells nothing about either. */
export function isSameSecret(given: string | undefined, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(wanted));
}

function cookieOf(header: string | undefined): string | undefined {
  return header
    ?.split(";")
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);
}

function credentialOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const [, scheme, rest] = /^([a-z]+) +(\S+) *$/i.exec(header.trim()) ?? [];
  if (scheme?.toLowerCase() === "bearer") return rest;
  if (scheme?.toLowerCase() !== "basic" || rest === undefined) return "";
  const pair = Buffer.from(rest, "base64").toString("utf8");
  return pair.slice(pair.indexOf(":") + 1);
}
