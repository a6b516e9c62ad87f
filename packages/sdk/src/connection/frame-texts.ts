// Rarely needed functions that read the text of a frame. A page loads them on demand.
export { memberTexts } from "@svc-runtime/protocol/json-text";
export { readMalformedFrame } from "./malformed-frame.ts";
