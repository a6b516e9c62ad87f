import type { Worker } from "@svc-runtime/sdk";
import { z } from "zod";

const person = z.object({ name: z.string().min(1) });
const greeting = z.object({ text: z.string(), times: z.int() });

/** Functions that this worker provides. Separate from the connection, so that tests can pass their own. */
export function provideGreeter(worker: Worker): void {
  const greeted = worker.state.scope<Record<string, { times: number }>>("greetings");

  worker.registerFunction(
    "greeter::greet",
    async ({ name }) => {
      // Counted in the engine: no other greeting comes between.
      const { newValue } = await greeted.update(name, [{ type: "increment", path: "times", by: 1 }]);
      return { text: `Hello ${name}`, times: newValue?.times ?? 0 };
    },
    { description: "Greets somebody and counts how often", requestFormat: person, responseFormat: greeting },
  );

  worker.http.get(
    "/greetings/:name",
    { functionId: "greeter::http", response: greeting, description: "Answers GET /greetings/:name" },
    async ({ params }) => worker.call<z.infer<typeof greeting>>({ function_id: "greeter::greet", payload: params }),
  );
}
