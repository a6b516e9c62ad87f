/* caller-worker: provides math::add_two_numbers, which calls math::add in the Python worker. */
import { connect } from "@svc-runtime/sdk";

interface Numbers {
  a: number;
  b: number;
}

interface Sum {
  c: number;
  running_total?: number;
}

const worker = connect({ name: "caller-worker" });

worker.registerFunction(
  "math::add_two_numbers",
  async (payload: Numbers) => worker.call<Sum>({ function_id: "math::add", payload }),
  { description: "Adds two numbers by calling math::add: {a, b} gives {c}" },
);

/*
 * HTTP: first `svc worker add svc-http`. Then remove the leading "// " from the lines
 * down to END OF HTTP and save: the engine restarts this worker by itself.
 */
// worker.registerFunction(
//   "http::add_two_numbers",
//   async (request: { body: Numbers }) => {
//     const sum = await worker.call<Sum>({ function_id: "math::add_two_numbers", payload: request.body });
//     return {
//       status_code: 200,
//       body: { c: sum.c, running_total: sum.running_total },
//       headers: { "Content-Type": "application/json" },
//     };
//   },
//   { description: "Answers POST /math/add-two-numbers" },
// );
// worker.registerTrigger({
//   type: "http",
//   function_id: "http::add_two_numbers",
//   config: { api_path: "/math/add-two-numbers", http_method: "POST" },
// });
/* END OF HTTP */
