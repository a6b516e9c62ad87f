// A collector that accepts everything and stores nothing.
import { createServer } from "node:http";
import { announceAndServe } from "./announce.ts";

announceAndServe(
  createServer((request, response) => {
    request.resume();
    request.once("end", () => response.writeHead(200, { "content-type": "application/x-protobuf" }).end());
  }),
);
