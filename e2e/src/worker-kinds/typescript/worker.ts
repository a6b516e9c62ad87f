import { connect } from "@svc-runtime/sdk";

const name = process.env.SVC_WORKER_NAME ?? "";
const worker = connect({ name });
worker.registerFunction(`${name}::double`, ({ n }: { n: number }) => ({
  n: 2 * n,
  runtime: "Bun" in globalThis ? "bun" : "Deno" in globalThis ? "deno" : "node",
}));
