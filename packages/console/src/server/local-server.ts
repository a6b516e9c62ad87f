/** The parts that other local servers of this repository (`svc mcp`) reuse. */
export { isSameSecret } from "./access.ts";
export { refusalOf } from "./guards.ts";
export { ConsoleListener } from "./listener.ts";
