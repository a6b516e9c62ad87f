// A file of its own, so that it can load after the page.
export { completeQuery } from "@svc-runtime/protocol/query";
