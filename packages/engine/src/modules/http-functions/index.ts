import { z } from "zod";
import { defineModule, type Module } from "../../kernel/module.ts";
import { HttpFunctions, type HttpFunctionsOptions } from "./http-functions.ts";

/** Runs functions that workers register with a URL. See README.md. */
export function httpFunctions(options: HttpFunctionsOptions): Module<unknown> {
  return defineModule({
    name: "http-functions",
    summary: "Calls functions that are registered with a URL",
    config: z.unknown(),
    start({ clock, runInvocations }) {
      const functions = new HttpFunctions(options, clock);
      runInvocations(functions);
      return { stop: () => functions.stop() };
    },
  });
}
