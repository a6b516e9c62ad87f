// Generates python/src/svc/protocol.py from packages/protocol.
import { z } from "zod";

const MAX_LINE = 120;

/** Returns the JSON Schema of a message. Uses the input side, since transforms and custom checks have no schema. */
function messageJsonSchema(schema) {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}

const python = (value) => JSON.stringify(value);

function pascal(name) {
  return name
    .split("_")
    .map((part) => part[0].toUpperCase() + part.slice(1))
    .join("");
}

// Message types are one lowercase word; Python class names separate the words.
const CLASS_NAMES = {
  workerregistered: "WorkerRegistered",
  registerfunction: "RegisterFunction",
  unregisterfunction: "UnregisterFunction",
  invokefunction: "InvokeFunction",
  invocationresult: "InvocationResult",
  cancelinvocation: "CancelInvocation",
  registertriggertype: "RegisterTriggerType",
  unregistertriggertype: "UnregisterTriggerType",
  registertrigger: "RegisterTrigger",
  unregistertrigger: "UnregisterTrigger",
  triggerregistrationresult: "TriggerRegistrationResult",
  registerservice: "RegisterService",
  reattach: "Reattach",
  draining: "Draining",
  ping: "Ping",
  pong: "Pong",
  error: "ErrorFrame",
};

class Emitter {
  #classes = new Map();

  /** Returns the Python type of a schema. Objects with members become classes named `name`. */
  type(schema, name) {
    if (schema.anyOf !== undefined || schema.oneOf !== undefined) {
      const members = (schema.anyOf ?? schema.oneOf).map((member) => this.type(member, variantName(name, member)));
      return members.includes("object") ? "object" : [...new Set(members)].join(" | ");
    }
    if (Array.isArray(schema.type))
      return [...new Set(schema.type.map((type) => this.type({ ...schema, type }, name)))].join(" | ");
    if (schema.const !== undefined) return `Literal[${python(schema.const)}]`;
    if (schema.enum !== undefined) return `Literal[${schema.enum.map(python).join(", ")}]`;
    switch (schema.type) {
      case "string":
        return "str";
      case "integer":
        return "int";
      case "number":
        return "float";
      case "boolean":
        return "bool";
      case "null":
        return "None";
      case "array":
        return `list[${this.type(schema.items ?? {}, name)}]`;
      case "object":
        return schema.properties === undefined || schema.additionalProperties !== undefined
          ? "dict[str, object]"
          : this.object(schema, name);
      default:
        return "object";
    }
  }

  /**
   * Emits two classes per object: required members in a base class, optional ones with `total=False`. NotRequired needs
   * Python 3.11.
   */
  object(schema, name) {
    if (this.#classes.has(name)) return name;
    this.#classes.set(name, "");
    const required = new Set(schema.required ?? []);
    const members = Object.entries(schema.properties).map(([key, member]) => ({
      key,
      text: `    ${key}: ${this.type(member, name + pascal(key))}`,
    }));
    const must = members.filter(({ key }) => required.has(key)).map(({ text }) => text);
    const may = members.filter(({ key }) => !required.has(key)).map(({ text }) => text);
    const classes = [];
    if (may.length === 0) classes.push(`class ${name}(TypedDict):\n${must.join("\n")}`);
    else if (must.length === 0) classes.push(`class ${name}(TypedDict, total=False):\n${may.join("\n")}`);
    else
      classes.push(
        `class _${name}(TypedDict):\n${must.join("\n")}`,
        `class ${name}(_${name}, total=False):\n${may.join("\n")}`,
      );
    // Moved to the end, so that the classes that it uses come first.
    this.#classes.delete(name);
    this.#classes.set(name, classes.join("\n\n\n"));
    return name;
  }

  text() {
    return [...this.#classes.values()].join("\n\n\n");
  }
}

function variantName(name, member) {
  const tag = member.properties?.type?.const;
  return tag === undefined ? name : name + pascal(tag);
}

function errorRow([code, facts], summary) {
  const row = `(${facts.retryable ? "True" : "False"}, ${facts.httpStatus}, ${python(facts.executed)}, ${python(summary)})`;
  const line = `    ${python(code)}: ${row},`;
  if (line.length <= MAX_LINE) return line;
  const inner = row
    .slice(1, -1)
    .match(/^(True|False), (\d+), ("[a-z]+"), (.*)$/s)
    .slice(1);
  return `    ${python(code)}: (\n${inner.map((part) => `        ${part},`).join("\n")}\n    ),`;
}

/**
 * Returns the text of `python/src/svc/protocol.py`.
 * @param {typeof import("../../packages/protocol/dist/index.js")} protocol the exports of packages/protocol
 * @returns {string} formatted like `ruff format`
 */
export function pythonProtocol(protocol) {
  const emitter = new Emitter();
  for (const [type, schema] of Object.entries(protocol.messageSchemas)) {
    const name = CLASS_NAMES[type];
    if (name === undefined)
      throw new Error(
        `scripts/generate/python-protocol.mjs: give the new message \`${type}\` a Python class name in CLASS_NAMES`,
      );
    emitter.type(messageJsonSchema(schema), name);
  }
  return `# Generated by npm run generate. Do not edit.
"""The protocol: error codes, features, limits and message types."""

from typing import Literal, TypedDict

Executed = Literal["no", "unknown", "yes"]

#: Maximum size of a frame in either direction, in bytes.
MAX_FRAME_BYTES = ${protocol.MAX_FRAME_BYTES}
#: Maximum length of an id or name, in bytes of UTF-8.
MAX_NAME_BYTES = ${protocol.MAX_NAME_BYTES}
#: Maximum deadline of a call, in milliseconds.
MAX_TIMEOUT_MS = ${protocol.MAX_TIMEOUT_MS}
#: Default deadline of a call, in milliseconds.
DEFAULT_TIMEOUT_MS = ${protocol.DEFAULT_TIMEOUT_MS}

#: Protocol extensions that this SDK announces when it registers.
FEATURES = (
${protocol.FEATURES.map((feature) => `    ${python(feature)},`).join("\n")}
)

#: code -> (retryable, http_status, executed, summary)
ERROR_CODES: dict[str, tuple[bool, int, Executed, str]] = {
${Object.entries(protocol.errorCodes)
  .map((entry) => errorRow(entry, protocol.errorSummaries[entry[0]]))
  .join("\n")}
}


${emitter.text()}
`;
}
