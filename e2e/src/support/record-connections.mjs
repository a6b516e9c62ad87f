// Loaded into a process by `NODE_OPTIONS=--import=…`: writes each address that it connects or sends to into
// CONNECTIONS_FILE, one per line.

import dgram from "node:dgram";
import dns from "node:dns";
import { appendFileSync } from "node:fs";
import net from "node:net";

const file = process.env.CONNECTIONS_FILE;
const record = (what, place) => appendFileSync(file, `${what} ${place}\n`);

function watch(prototype, method, describe) {
  const original = prototype[method];
  prototype[method] = function watched(...args) {
    describe(args);
    return original.apply(this, args);
  };
}

// `fetch`, http, tls and WebSockets end up here.
watch(net.Socket.prototype, "connect", (args) => {
  // Calls from within Node pass the arguments as one normalised list.
  const [target, second] = Array.isArray(args[0]) ? args[0] : args;
  if (typeof target !== "object" || target === null) record("tcp", typeof second === "string" ? second : "localhost");
  else if (target.path === undefined) record("tcp", target.host ?? "localhost");
});
watch(dgram.Socket.prototype, "send", (args) =>
  record("udp", args.findLast((arg) => typeof arg === "string") ?? "localhost"),
);
watch(dns, "lookup", ([name]) => record("dns", name));
record("watching", process.pid);
