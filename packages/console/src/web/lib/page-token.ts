import { LOGIN_HEADER, type Login } from "../../contract/login.ts";
import { t } from "../labels/translate.ts";

/** Stored per tab, so that no other tab and no other port of this machine can read it. */
const SESSION = "svc.session";
const SESSION_ENDED = "svc.session.ended";

/** Values that the server wrote into the page: the token of all requests, and the nonce of style elements. */
function meta(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";
}

const ownToken = meta("svc-page-token");

/** Returns an empty string if there is no session, or if the browser blocks the storage. */
function storedSession(): string {
  try {
    return sessionStorage.getItem(SESSION) ?? "";
  } catch {
    return "";
  }
}

/**
 * Token of each request: the page's own token for the console's current run, or that of a session. Empty if the user
 * must log in first.
 */
export let pageToken: string = ownToken === "" ? storedSession() : ownToken;
export const hasSession = ownToken === "" && pageToken !== "";
export const styleNonce: string = meta("svc-nonce");

/**
 * Reads the token of the console's current run from a fresh page, so that the user's input in this page stays. Returns
 * false if the console does not respond or requires a login.
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

/** True while the page is about to reload. */
let isLeaving = false;

/** Forgets a session that the server rejected and reloads the page, which then shows the login form. */
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

/** Logs in with a token of the engine and reloads the page. Returns a readable reason if the login fails. */
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
  // A console that does not respond has lost the session anyway.
  await fetch("/api/logout", { method: "POST", headers, body: "{}" }).catch(() => undefined);
  location.reload();
}
