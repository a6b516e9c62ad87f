export { CONSOLE_VERSION, type RunningConsole, startConsole } from "./console-server.ts";
export { type ConsoleOptions, UsageError } from "./options.ts";
