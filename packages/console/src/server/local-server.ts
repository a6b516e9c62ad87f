/** What a server for this machine alone needs, for others of ours that serve one. */
export { isSameSecret } from "./access.ts";
export { refusalOf } from "./guards.ts";
export { ConsoleListener } from "./listener.ts";
