/** What the server wrote into the page: its token goes with each request, the nonce to whoever adds style elements. */
function meta(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";
}

export const pageToken: string = meta("svc-page-token");
export const styleNonce: string = meta("svc-nonce");

// Dialogs keep the page behind them still by a style element of their own, and ask here for its nonce.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = styleNonce;
