/** The parts that other local servers of this repository (`svc mcp`) reuse. */

export { refusalOf } from "./guards.ts";
export { ConsoleListener } from "./listener.ts";
export { isSameSecret } from "./page-token.ts";
