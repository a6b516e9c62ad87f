import protobuf from "protobufjs/minimal.js";
import type { FieldSchema, MessageSchema, ScalarKind } from "./schema.ts";

const { Reader, Writer } = protobuf;
type Reader = protobuf.Reader;
type Writer = protobuf.Writer;

type JsonObject = Record<string, unknown>;

/** Thrown by `readMessage`. */
export class ProtobufError extends Error {
  /** True if the message is well-formed but too large. */
  readonly isOverLimit: boolean;

  constructor(message: string, isOverLimit = false) {
    super(message);
    this.name = "ProtobufError";
    this.isOverLimit = isOverLimit;
  }
}

/**
 * Maximum number of values in one message. It limits memory, because a value may take a hundred times its encoded bytes
 * after decoding.
 */
const MAX_VALUES = 500_000;
const MAX_DEPTH = 32;

/** Decodes a protobuf message to its JSON form. Throws ProtobufError if it is invalid. */
export function readMessage(bytes: Uint8Array, schema: MessageSchema): JsonObject {
  try {
    const reader = Reader.create(bytes);
    return readFields(reader, reader.len, schema, { left: MAX_VALUES }, 0);
  } catch (error) {
    // The library throws errors of many types, so all are converted.
    throw error instanceof ProtobufError
      ? error
      : new ProtobufError(`the body is not a valid protobuf message: ${(error as Error).message}`);
  }
}

function readFields(
  reader: Reader,
  end: number,
  schema: MessageSchema,
  budget: { left: number },
  depth: number,
): JsonObject {
  if (depth > MAX_DEPTH) throw new ProtobufError(`the message is nested deeper than ${MAX_DEPTH}`, true);
  const found: JsonObject = Object.create(null) as JsonObject;
  while (reader.pos < end) {
    const tag = reader.uint32();
    const field = schema.get(tag >>> 3);
    const wireType = tag & 7;
    if (field === undefined) {
      reader.skipType(wireType);
      continue;
    }
    budget.left -= 1;
    if (budget.left < 0) throw new ProtobufError(`the message has more than ${MAX_VALUES} values`, true);
    if (field.repeated === true) {
      found[field.name] ??= [];
      const list = found[field.name] as unknown[];
      if (wireType === 2 && typeof field.kind === "string" && isPackable(field.kind))
        readPacked(reader, field.kind, list, budget);
      else list.push(readValue(reader, field, wireType, budget, depth));
    } else {
      found[field.name] = readValue(reader, field, wireType, budget, depth);
    }
  }
  if (reader.pos !== end) throw new ProtobufError("the message ends within a field");
  return found;
}

function readPacked(reader: Reader, kind: ScalarKind, list: unknown[], budget: { left: number }): void {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new ProtobufError("a list is longer than the message");
  while (reader.pos < end) {
    budget.left -= 1;
    if (budget.left < 0) throw new ProtobufError(`the message has more than ${MAX_VALUES} values`, true);
    list.push(readScalar(reader, kind));
  }
}

function readValue(
  reader: Reader,
  { kind }: FieldSchema,
  wireType: number,
  budget: { left: number },
  depth: number,
): unknown {
  if (typeof kind === "string") {
    if (wireType !== WIRE_TYPES[kind]) throw new ProtobufError("a field has the wrong wire type");
    return readScalar(reader, kind);
  }
  if (wireType !== 2) throw new ProtobufError("a field has the wrong wire type");
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new ProtobufError("a field is longer than the message");
  return readFields(reader, end, typeof kind === "function" ? kind() : kind, budget, depth + 1);
}

const WIRE_TYPES: Readonly<Record<ScalarKind, number>> = {
  string: 2,
  hex: 2,
  bytes: 2,
  bool: 0,
  double: 1,
  fixed64: 1,
  sfixed64: 1,
  int64: 0,
  uint64: 0,
  uint32: 0,
  fixed32: 5,
  sint32: 0,
  enum: 0,
};

function isPackable(kind: ScalarKind): boolean {
  return WIRE_TYPES[kind] !== 2;
}

function readScalar(reader: Reader, kind: ScalarKind): unknown {
  switch (kind) {
    case "string":
      return reader.string();
    case "hex":
      return Buffer.from(reader.bytes()).toString("hex");
    case "bytes":
      return Buffer.from(reader.bytes()).toString("base64");
    case "bool":
      return reader.bool();
    case "double":
      return reader.double();
    case "enum":
      return reader.int32();
    case "uint32":
    case "fixed32":
    case "sint32":
      return reader[kind]();
    default:
      return reader[kind]().toString();
  }
}

/** Encodes an object in that JSON form. Members that the schema does not contain are omitted. */
export function writeMessage(value: object, schema: MessageSchema): Uint8Array {
  const writer = Writer.create();
  writeFields(writer, value as JsonObject, schema);
  return writer.finish();
}

function writeFields(writer: Writer, value: JsonObject, schema: MessageSchema): void {
  for (const [number, field] of schema) {
    const member = value[field.name];
    if (member === undefined) continue;
    if (field.repeated !== true) writeValue(writer, number, field, member);
    else if (typeof field.kind === "string" && isPackable(field.kind))
      writePacked(writer, number, field.kind, member as readonly unknown[]);
    else for (const item of member as readonly unknown[]) writeValue(writer, number, field, item);
  }
}

function writeValue(writer: Writer, number: number, { kind }: FieldSchema, value: unknown): void {
  if (typeof kind === "string") {
    writer.uint32((number << 3) | WIRE_TYPES[kind]);
    writeScalar(writer, kind, value);
    return;
  }
  writer.uint32((number << 3) | 2).fork();
  writeFields(writer, value as JsonObject, typeof kind === "function" ? kind() : kind);
  writer.ldelim();
}

function writePacked(writer: Writer, number: number, kind: ScalarKind, list: readonly unknown[]): void {
  if (list.length === 0) return;
  writer.uint32((number << 3) | 2).fork();
  for (const item of list) writeScalar(writer, kind, item);
  writer.ldelim();
}

function writeScalar(writer: Writer, kind: ScalarKind, value: unknown): void {
  switch (kind) {
    case "string":
      writer.string(value as string);
      break;
    case "hex":
      writer.bytes(Buffer.from(value as string, "hex"));
      break;
    case "bytes":
      writer.bytes(Buffer.from(value as string, "base64"));
      break;
    case "bool":
      writer.bool(value as boolean);
      break;
    case "enum":
      writer.int32(value as number);
      break;
    case "double":
      // The string may be "NaN" or an infinity, which Number() parses too.
      writer.double(Number(value));
      break;
    case "uint32":
    case "fixed32":
    case "sint32":
      writer[kind](value as number);
      break;
    default:
      writer[kind](value as string);
  }
}
