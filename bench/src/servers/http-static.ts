// The minimum cost of HTTP in Node: a server with one constant response and no routing.
import { createServer } from "node:http";
import { announceAndServe } from "./announce.ts";

const body = Buffer.from(JSON.stringify({ ok: true }));
const headers = { "content-type": "application/json", "content-length": body.length };

announceAndServe(
  createServer((_request, response) => {
    response.writeHead(200, headers);
    response.end(body);
  }),
);
