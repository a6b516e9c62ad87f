import { http, type Worker } from "@svc/sdk";
import { z } from "zod";

const person = z.object({ name: z.string().min(1) });
const greeting = z.object({ text: z.string(), times: z.int() });

/** What this worker provides. Apart from the connection, so that tests can hand in theirs. */
export function provideGreeter(worker: Worker): void {
  const greeted = worker.state.scope<Record<string, { times: number }>>("greetings");

  worker.registerFunction(
    "greeter::greet",
    async ({ name }) => {
      // Counted in the engine: no other greeting comes between.
      const { new_value } = await greeted.update(name, [{ type: "increment", path: "times", by: 1 }]);
      return { text: `Hello ${name}`, times: new_value?.times ?? 0 };
    },
    { description: "Greets somebody and counts how often", request_format: person, response_format: greeting },
  );

  worker.registerFunction(
    "greeter::http",
    http(async ({ path_params }) => worker.call({ function_id: "greeter::greet", payload: { name: path_params.name } })),
    { description: "Answers GET /greetings/:name" },
  );
  worker.registerTrigger({ type: "http", function_id: "greeter::http", config: { api_path: "/greetings/:name" } });
}
