import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { defineModule, type Module } from "../../kernel/module.ts";
import { answerInvoke, type InvokeRules } from "./invoke.ts";
import { answerOpenApi } from "./openapi.ts";
import { sendError } from "./respond.ts";

/** Serves `/_console/*` on the engine's HTTP listener: calls a function and describes the routes. */
export function consoleApi(rules: () => InvokeRules): Module<unknown> {
  return defineModule({
    name: "console-api",
    summary: "Serves POST /_console/invoke and /_console/openapi.json",
    config: z.unknown(),
    start(context) {
      const handle = async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
        if (path === "/_console/invoke" && rules().enabled)
          await answerInvoke({ request, response, context, rules: rules() });
        else if (path === "/_console/openapi.json" && rules().enabled)
          await answerOpenApi({ request, response, context, rules: rules() });
        else
          sendError(
            response,
            404,
            "NOT_FOUND",
            rules().enabled
              ? `there is nothing at ${path}; POST /_console/invoke calls a function, GET /_console/openapi.json describes the routes`
              : "the console API is switched off (engine.console_invoke)",
          );
      };
      context.mountHttp({ prefix: "/_console/", handle });
      return { stop: () => {} };
    },
  });
}
