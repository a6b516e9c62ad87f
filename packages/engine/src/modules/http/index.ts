import { join } from "node:path";
import { z } from "zod";
import { defineModule } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import { SavedSet } from "../../store/saved-set.ts";
import { type HttpConfig, httpConfigSchema } from "./config.ts";
import { RequestHandler } from "./handler.ts";
import { openApiDocument } from "./openapi/openapi-document.ts";
import { routeSettingsSchema } from "./routing/route-settings.ts";
import { isReservedRoute, RouteTable } from "./routing/routes.ts";

/** Name of the file in the data folder with the routes that trusted workers registered and did not unregister. */
const RESERVED_FILE = "http-reserved-routes.json";

/** Serves functions over HTTP: provides the trigger type `http` on the engine's HTTP listener. */
export const httpModule = defineModule<HttpConfig>({
  name: "svc-http",
  summary: "Serves functions over HTTP",
  config: httpConfigSchema,
  async start(context) {
    const { clock, log, dataDir } = context;
    const saved = new SavedSet({
      file: join(dataDir, RESERVED_FILE),
      what: "the list of routes of trusted workers",
      isEntry: isReservedRoute,
      clock,
      log,
    });
    const reserved = await saved.load();
    const { problem } = saved;
    const routes = new RouteTable({ reserved, saved, problem });
    context.reportHealth("access", () => {
      const details = problem ?? saved.failure;
      return details === undefined ? undefined : { status: "degraded", details };
    });
    let reservations: readonly Undo[] = [];
    const reserveFunctions = ({ middleware, notFoundFunction }: HttpConfig): void => {
      const ids = middleware.map(({ functionId }) => functionId);
      routes.setNeededByAll(ids);
      for (const undo of reservations) undo();
      reservations = [...ids, ...(notFoundFunction === undefined ? [] : [notFoundFunction])].map((id) =>
        context.reserveFunction(id),
      );
    };
    reserveFunctions(context.config);
    const handler = new RequestHandler(routes, context);
    context.provideTrigger({
      type: "http",
      summary: "Calls a function for each HTTP request to a path",
      settings: routeSettingsSchema,
      onEveryNode: true,
      bind: (binding) => routes.add(binding),
    });
    context.provideFunction({
      id: "engine::http::openapi",
      summary: "Describes all HTTP routes as an OpenAPI 3.1 document",
      input: z.unknown(),
      output: z.looseObject({ openapi: z.string() }),
      handle: (_input, { access }) =>
        openApiDocument({
          routes: routes.owners(),
          directory: access?.visible(context.directory) ?? context.directory,
        }),
    });
    context.mountHttp({
      prefix: "/",
      boundsBodies: true,
      handle: (request, response) => handler.handle(request, response),
    });
    return {
      reconfigure(next) {
        reserveFunctions(next);
        handler.reconfigure(next);
      },
      async stop() {
        await handler.stop();
        await saved.close();
      },
    };
  },
});
