/** What the server wrote into the page: its token goes with each request, the nonce to whoever adds style elements. */
function meta(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";
}

export const pageToken: string = meta("svc-page-token");
export const styleNonce: string = meta("svc-nonce");
