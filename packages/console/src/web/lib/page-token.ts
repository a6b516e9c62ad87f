/** What the server wrote into the page: its token goes with each request, the nonce to whoever adds style elements. */
function meta(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";
}

/** Of the console's present run; another one once the console was started again. */
export let pageToken: string = meta("svc-page-token");
export const styleNonce: string = meta("svc-nonce");

/** Takes the token of the console's present run from a fresh page, so that what was typed into this one stays. False when the console is away or asks for a login. */
export async function renewPageToken(): Promise<boolean> {
  try {
    const response = await fetch("/", { cache: "no-store" });
    const found = /name="svc-page-token" content="([\w-]+)"/.exec(await response.text())?.[1];
    if (!response.ok || found === undefined || found === pageToken) return false;
    pageToken = found;
    return true;
  } catch {
    return false;
  }
}
