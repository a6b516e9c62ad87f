// A worker of the shop in the console's screenshots (scripts/screenshots.mjs), in its own process: `node
// shop-worker.mjs NAME`, with the bridge in SVC_URL.
import { join } from "node:path";
import { root } from "./steps.mjs";

const { connect, silentLogger } = await import(join(root, "packages/sdk/dist/node.js"));
const [name = ""] = process.argv.slice(2);
// Logs of handlers are sent to the engine, but not printed.
const worker = connect(process.env.SVC_URL, { name, logger: { ...silentLogger, level: "debug" } });
const call = (function_id, payload) => worker.call({ function_id, payload });
const numbers = {
  type: "object",
  required: ["a", "b"],
  properties: { a: { type: "number", description: "First addend" }, b: { type: "number" } },
};

const PROGRAMS = {
  "math-worker"() {
    worker.registerFunction("math::add", ({ a, b }) => ({ c: a + b }), {
      description: "Adds two numbers: {a, b} gives {c}",
      request_format: numbers,
    });
  },
  "caller-worker": addTwoNumbers,
  shop: runShop,
};

function addTwoNumbers() {
  worker.registerFunction(
    "math::add_two_numbers",
    async (payload, context) => {
      const { a, b } = payload.body ?? payload;
      context.log.info("adding", { a, b });
      return call("math::add", { a, b });
    },
    {
      description: "Adds two numbers by calling math::add: {a, b} gives {c}",
      request_format: numbers,
      response_format: { type: "object", properties: { c: { type: "number" } } },
    },
  );
  return bind("http", "math::add_two_numbers", { api_path: "/math/add-two-numbers", http_method: "POST" });
}

async function runShop() {
  worker.registerFunction("orders::take", takeOrder, {
    description: "POST /orders: adds up the prices, charges and tells the others",
  });
  worker.registerFunction("payments::charge", charge, {
    description: "Charges a customer's card; refuses more than 900",
  });
  worker.registerFunction("stock::reserve", reserve, { description: "Runs on each order.paid" });
  worker.registerFunction("mail::send", sendMail, { description: "Sends the confirmation" });
  worker.registerFunction("reports::tick", () => ({ orders: 12 }), {
    description: "Counts the orders, twice a minute",
  });
  worker.registerFunction("orders::changed", () => null, { description: "Runs when an order changes" });
  worker.registerFunction("chat::say", say, { description: "POST /chat: tells everyone in the room" });
  await bind("http", "orders::take", { api_path: "/orders", http_method: "POST" });
  await bind("http", "chat::say", { api_path: "/chat", http_method: "POST" });
  await bind("cron", "reports::tick", { expression: "*/30 * * * * *" });
  await bind("cron", "reports::tick", { expression: "0 0 9 * * 1", timezone: "Europe/Berlin" });
  await bind("event", "stock::reserve", { topic: "order.paid" });
  await bind("state", "orders::changed", { scope: "orders" });
  await bind("durable:subscriber", "stock::reserve", { topic: "orders/archive" });
  await prepareShop();
}

async function takeOrder({ body }, context) {
  context.log.info("an order came in", { customer: body.customer, items: body.prices.length });
  const [first = 0, ...others] = body.prices;
  let total = first;
  for (const price of others) total = (await call("math::add_two_numbers", { a: total, b: price })).c;
  const charged = await context.span("charge the card", () =>
    call("payments::charge", { customer: body.customer, total }),
  );
  await call("state::set", {
    scope: "orders",
    key: body.id,
    value: { customer: body.customer, total, status: "paid", charged },
  });
  await call("publish", { topic: "order.paid", data: { id: body.id, total } });
  await call("queue::enqueue", {
    queue: "mails",
    function_id: "mail::send",
    data: { to: body.customer, order: body.id },
  });
  return { status_code: 201, headers: { "Content-Type": "application/json" }, body: { id: body.id, total } };
}

function charge({ customer, total }, context) {
  if (total > 900) {
    context.log.error("the card was refused", { customer, total, code: "card_declined" });
    throw new Error("card_declined: the bank refused 900 or more");
  }
  if (total > 500) context.log.warn("a large sum", { customer, total });
  return { receipt: `r-${Math.round(total * 100)}` };
}

async function reserve({ id, total }, context) {
  context.log.debug("reserved", { order: id });
  await call("stream::set", { stream_name: "orders", group_id: "today", item_id: id, data: { total, at: "packing" } });
  return { reserved: true };
}

function sendMail({ to }) {
  if (to.startsWith("nobody")) throw new Error(`550 no such user: ${to}`);
  return { sent: true };
}

async function say({ body: { room, text } }) {
  await call("stream::send", { stream_name: "chat", group_id: room, type: "message", data: { from: "ada", text } });
  return { status_code: 204 };
}

/** Creates the shop's state before the first order. */
async function prepareShop() {
  await call("state::set", { scope: "math", key: "running_total", value: 30 });
  await call("state::set", {
    scope: "users",
    key: "ada",
    value: { name: "Ada Lovelace", plan: "pro", seats: 3, tags: ["first", "beta"] },
  });
  await call("state::set", { scope: "users", key: "grace", value: { name: "Grace Hopper", plan: "free", seats: 1 } });
  for (const room of ["lobby", "support"]) {
    await call("stream::set", {
      stream_name: "chat",
      group_id: room,
      item_id: "topic",
      data: { text: `Welcome to the ${room}` },
    });
  }
  for (const [at, to] of ["ada@example.org", "grace@example.org", "linus@example.org"].entries()) {
    await call("queue::enqueue", {
      queue: "invoices",
      function_id: "mail::send",
      data: { to, invoice: 100 + at },
      delay_ms: 3_600_000,
    });
  }
}

const bind = (type, function_id, config) => worker.registerTrigger({ type, function_id, config }).registered;

await worker.connected();
await PROGRAMS[name]();
process.stdout.write(`${name} is ready\n`);
