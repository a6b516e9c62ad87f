import { AuthorizationError, ConnectionError } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { problemOf } from "./connect.ts";

const withCode = (message: string, code: string): Error => Object.assign(new Error(message), { code });
const settings = { servers: ["nats://n1:4222"] };

describe("the problem of a connection to a NATS server", () => {
  it.each([
    withCode("getaddrinfo ENOTFOUND info", "ENOTFOUND"),
    withCode("getaddrinfo ENOTFOUND n1", "ENOTFOUND"),
    withCode("getaddrinfo EAI_AGAIN tls.invalid", "EAI_AGAIN"),
    withCode("getaddrinfo ENOTFOUND authentication.protocol", "ENOTFOUND"),
    withCode("Client network socket disconnected before secure TLS connection was established", "ECONNRESET"),
    withCode("connect EHOSTUNREACH 10.0.0.1:4222", "EHOSTUNREACH"),
    new ConnectionError("connection refused", { cause: withCode("connect ECONNREFUSED", "ECONNREFUSED") }),
    new Error("timeout"),
  ])("may pass: $message", (error) => {
    expect(problemOf(error, settings)).toEqual({
      message: expect.stringContaining("no NATS server can be reached at nats://n1:4222"),
      isFinal: false,
    });
  });

  it.each([
    [new AuthorizationError("Authorization Violation"), "refuses the credentials"],
    [withCode("unable to get local issuer certificate", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"), "TLS connection"],
    [withCode("self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT"), "TLS connection"],
    [
      new ConnectionError("no start line", { cause: withCode("no start line", "ERR_OSSL_PEM_NO_START_LINE") }),
      "TLS connection",
    ],
    [new ConnectionError("server does not support 'tls'"), "TLS connection"],
    [new Error("unexpected response from server"), "is no NATS server"],
  ])("does not pass: %s", (error, message) => {
    expect(problemOf(error, settings)).toEqual({ message: expect.stringContaining(message), isFinal: true });
  });
});
