import { LOGIN_HEADER, type Login } from "../../contract/login.ts";
import { t } from "../labels/translate.ts";

/**
 * Key of the session token. It is stored per tab, so that no other tab, and no page from another port of this machine,
 * can read it.
 */
const SESSION = "svc.session";
const SESSION_ENDED = "svc.session.ended";

/** Reads a value that the server wrote into the page: the token of all requests, or the nonce of style elements. */
function meta(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";
}

const ownToken = meta("svc-page-token");

/** Returns the stored session token. Returns an empty text if there is none, or if the browser blocks the storage. */
function storedSession(): string {
  try {
    return sessionStorage.getItem(SESSION) ?? "";
  } catch {
    return "";
  }
}

/**
 * Token that each request has. It is the page's own token for the console's current run, or that of a session. It is
 * empty if the user must log in first.
 */
export let pageToken: string = ownToken === "" ? storedSession() : ownToken;
export const hasSession = ownToken === "" && pageToken !== "";
export const styleNonce: string = meta("svc-nonce");

/**
 * Fetches the page again, to read the token of the console's current run from it. This avoids a reload, which would
 * lose the user's input. Returns false if the console does not respond or requires a login.
 */
export async function renewPageToken(): Promise<boolean> {
  try {
    const response = await fetch("/", { cache: "no-store" });
    const found = /name="svc-page-token" content="([\w-]*)"/.exec(await response.text())?.[1];
    if (!response.ok || found === undefined || found === pageToken) return false;
    if (found === "") {
      await endIfRefused();
      return false;
    }
    pageToken = found;
    return true;
  } catch {
    return false;
  }
}

async function endIfRefused(): Promise<void> {
  const { status, headers } = await fetch("/api/hello", { headers: { "x-svc-console": pageToken } });
  if (status === 401 && headers.has(LOGIN_HEADER)) endSession();
}

/** True if the page is about to reload. */
let isLeaving = false;

/** Removes a session that the server has rejected. Then reloads the page, which shows the login form. */
export function endSession(): void {
  if (isLeaving) return;
  isLeaving = true;
  sessionStorage.removeItem(SESSION);
  sessionStorage.setItem(SESSION_ENDED, "yes");
  location.reload();
}

/** Returns true if a session of this tab has expired since the last login. */
export function sessionHasEnded(): boolean {
  return sessionStorage.getItem(SESSION_ENDED) !== null;
}

/**
 * Logs in with a token of the engine. If the login succeeds, the page is reloaded. Otherwise returns the reason for
 * users.
 */
export async function logIn(token: string): Promise<string> {
  try {
    const response = await fetch("/api/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
    const answer = (await response.json()) as { readonly data?: Login; readonly error?: { readonly message: string } };
    if (answer.data === undefined)
      return answer.error?.message ?? t`the console's server answered with ${response.status}`;
    sessionStorage.setItem(SESSION, answer.data.session);
    sessionStorage.removeItem(SESSION_ENDED);
    location.reload();
    return "";
  } catch {
    return t`the console's server cannot be reached`;
  }
}

/** Ends the session in this tab and at the console's server. */
export async function logOut(): Promise<void> {
  isLeaving = true;
  sessionStorage.removeItem(SESSION);
  const headers = { "content-type": "application/json", "x-svc-console": pageToken };
  // If the console does not respond, the failure is ignored, because a console that has ended has lost its sessions.
  await fetch("/api/logout", { method: "POST", headers, body: "{}" }).catch(() => undefined);
  location.reload();
}
