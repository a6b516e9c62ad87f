import { type Check, isAtLeast } from "./finding.ts";

const LEAST = "20.19";

/** Checks the version of Node that runs this command. Workers may use another Node from the PATH. */
export const nodeVersion: Check = async () => [
  isAtLeast(process.versions.node, LEAST)
    ? { check: "node", status: "ok", message: `Node ${process.versions.node}` }
    : {
        check: "node",
        status: "problem",
        message: `Node ${process.versions.node} is too old`,
        remedy: `Install Node ${LEAST} or later: https://nodejs.org`,
      },
];
