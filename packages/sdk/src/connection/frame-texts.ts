// What is rarely needed about the text of a frame. A page loads it on demand.
export { memberTexts } from "@svc-runtime/protocol/json-text";
export { readMalformedFrame } from "./malformed-frame.ts";
