import { LOGIN_HEADER, type Login } from "../../contract/login.ts";

/** In the tab's own storage: no other tab and no other port of this machine reads it. */
const SESSION = "svc.session";
const SESSION_ENDED = "svc.session.ended";

/** What the server wrote into the page: its token goes with each request, the nonce to whoever adds style elements. */
function meta(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";
}

const ownToken = meta("svc-page-token");

/** Empty also where the browser keeps nothing for the page. */
function storedSession(): string {
  try {
    return sessionStorage.getItem(SESSION) ?? "";
  } catch {
    return "";
  }
}

/** Goes with each request: the page's own token, of the console's present run, or that of a session. Empty when somebody has to log in first. */
export let pageToken: string = ownToken === "" ? storedSession() : ownToken;
export const hasSession = ownToken === "" && pageToken !== "";
export const styleNonce: string = meta("svc-nonce");

/** Takes the token of the console's present run from a fresh page, so that what was typed into this one stays. False when the console is away or needs a login. */
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

/** The document is about to be loaded again. */
let isLeaving = false;

/** After the server refused the session: forgets it, and loads the document again at the same address. It has a form to log in. */
export function endSession(): void {
  if (isLeaving) return;
  isLeaving = true;
  sessionStorage.removeItem(SESSION);
  sessionStorage.setItem(SESSION_ENDED, "yes");
  location.reload();
}

/** Whether a session of this tab has ended by itself since the last login. */
export function sessionHasEnded(): boolean {
  return sessionStorage.getItem(SESSION_ENDED) !== null;
}

/** Logs in with a token of the engine, and loads the document again at the same address. Returns why that is not possible, for people. */
export async function logIn(token: string): Promise<string> {
  try {
    const response = await fetch("/api/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token }) });
    const answer = (await response.json()) as { readonly data?: Login; readonly error?: { readonly message: string } };
    if (answer.data === undefined) return answer.error?.message ?? `the console's server answered with ${response.status}`;
    sessionStorage.setItem(SESSION, answer.data.session);
    sessionStorage.removeItem(SESSION_ENDED);
    location.reload();
    return "";
  } catch {
    return "the console's server cannot be reached";
  }
}

/** Ends the session, here and at the console's server. */
export async function logOut(): Promise<void> {
  isLeaving = true;
  sessionStorage.removeItem(SESSION);
  const headers = { "content-type": "application/json", "x-svc-console": pageToken };
  // A console that is away has forgotten the session.
  await fetch("/api/logout", { method: "POST", headers, body: "{}" }).catch(() => undefined);
  location.reload();
}
