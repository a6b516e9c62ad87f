import { type Check, isAtLeast } from "./finding.ts";

const LEAST = "20.19";

/** The Node that runs this command, and the one that workers find, which need not be the same. */
export const nodeVersion: Check = async () => [
  isAtLeast(process.versions.node, LEAST)
    ? { check: "node", status: "ok", message: `Node ${process.versions.node}` }
    : { check: "node", status: "problem", message: `Node ${process.versions.node} is too old`, remedy: `Install Node ${LEAST} or later: https://nodejs.org` },
];
