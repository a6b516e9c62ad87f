// Writes the fields of the official OTLP messages for otlp/schema.test.ts:
//   pip download --no-deps opentelemetry-proto==1.45.2 && unzip opentelemetry_proto-*.whl -d FOLDER
//   node scripts/otlp-fields.mjs FOLDER 1.45.2
// The Python package contains the serialized descriptors; no package for Node does.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { root } from "./steps.mjs";

const [folder, version] = process.argv.slice(2);
const FILES = [
  "common/v1/common",
  "resource/v1/resource",
  "trace/v1/trace",
  "logs/v1/logs",
  "metrics/v1/metrics",
  "collector/trace/v1/trace_service",
  "collector/logs/v1/logs_service",
  "collector/metrics/v1/metrics_service",
];
const { FileDescriptorProto } = createRequire(join(root, "packages/observability/package.json"))(
  "protobufjs/ext/descriptor",
);

/** Evaluates a bytes literal of Python. */
function bytesOf(literal) {
  const escapes = { n: 10, r: 13, t: 9, "\\": 92, "'": 39, '"': 34 };
  const bytes = [];
  for (const [, hex, short, plain] of literal.matchAll(/\\x([0-9a-f]{2})|\\(.)|([^\\])/gs))
    bytes.push(
      hex === undefined ? (short === undefined ? plain.charCodeAt(0) : escapes[short]) : Number.parseInt(hex, 16),
    );
  return Uint8Array.from(bytes);
}

const TYPES = [
  "",
  "double",
  "float",
  "int64",
  "uint64",
  "int32",
  "fixed64",
  "fixed32",
  "bool",
  "string",
  "group",
].concat(["message", "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64"]);
const lines = [];
function addMessage({ name, field = [], nestedType = [] }, prefix) {
  const fields = field.map(({ name, number, label, type, typeName }) => {
    const kind = TYPES[type] === "message" ? typeName.replace(/^.*\.v1\./, "") : TYPES[type];
    const camel = name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
    return `${number} ${camel} ${kind}${label === 3 ? "*" : ""}`;
  });
  lines.push(`  ${JSON.stringify(prefix + name)}: ${JSON.stringify(fields.join(", "))},`);
  for (const nested of nestedType) addMessage(nested, `${prefix}${name}.`);
}
for (const file of FILES) {
  const source = readFileSync(join(folder, "opentelemetry/proto", `${file}_pb2.py`), "utf8");
  const [, literal] = /AddSerializedFile\(b'(.*)'\)\n/s.exec(source);
  for (const message of FileDescriptorProto.decode(bytesOf(literal)).messageType) addMessage(message, "");
}
writeFileSync(
  join(root, "packages/observability/src/otlp/testing/official-fields.ts"),
  `/** The fields of opentelemetry-proto ${version}: number, name and type; \`*\` is repeated. By scripts/otlp-fields.mjs. */
export const OFFICIAL_FIELDS: Readonly<Record<string, string>> = {
${lines.join("\n")}
};
`,
);
