export { CONSOLE_VERSION, type RunningConsole, startConsole } from "./console-server.ts";
export { addConsoleOptions, type ConsoleOptions, readConsoleOptions } from "./options.ts";
