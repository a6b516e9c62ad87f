import { z } from "zod";
import type { ModuleContext } from "../../kernel/module.ts";

/** Callers that may call this function may list user-defined streams. */
const LISTS_STREAMS = "stream::list_all";

const listInput = z.object({ include_system: z.boolean().nullish() });
const listOutput = z.object({
  streams: z.array(
    z.object({
      name: z.string(),
      type: z.enum(["user", "system"]),
      groups: z.array(z.object({ group_id: z.string(), items: z.int().nullable(), subscribers: z.int() })),
      subscribers: z.int(),
    }),
  ),
});

/** Provides `engine::streams::list`. */
export function provideStreamListing({
  provideFunction,
  streams,
}: Pick<ModuleContext<unknown>, "provideFunction" | "streams">): void {
  provideFunction({
    id: "engine::streams::list",
    summary: "Streams with their groups and subscribers",
    input: listInput,
    output: listOutput,
    async handle({ include_system }, { access }) {
      const views = await streams.list();
      const seesUsers = access === undefined || access.callRefusal(LISTS_STREAMS) === undefined;
      // System streams contain data of all principals, so restricted callers do not see them.
      const seesSystem = access === undefined && include_system === true;
      return { streams: views.filter(({ type }) => (type === "user" ? seesUsers : seesSystem)) };
    },
  });
}
