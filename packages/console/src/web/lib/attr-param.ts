import { attributeKey, engineFilterOf, type FieldTerm, type FilterOp } from "@svc-runtime/protocol/query";

/** Returns a filter in the form `key:op:value` for the address (`attr=`). Colons in the key are percent-encoded. */
export function attrParam(term: FieldTerm): string {
  const name = attributeKey(term.field) ?? term.field;
  const { key, op, value } = { value: "", ...(engineFilterOf(term, name) ?? { key: name, op: term.op }) };
  return `${key.replaceAll("%", "%25").replaceAll(":", "%3A")}:${op}:${value}`;
}

/** Parses a text that `attrParam` returned. Returns undefined for any other text. */
export function termOfAttrParam(param: string): FieldTerm | undefined {
  const parts = /^([^:]+):(not_)?(equals|contains|like|exists|gte?|lte?):?(.*)$/su.exec(param);
  if (parts === null) return undefined;
  const [, key = "", not, op = "equals", value = ""] = parts;
  const name = key.replaceAll("%3A", ":").replaceAll("%25", "%");
  return {
    kind: "field",
    field: name.startsWith("resource.") ? name : `attr.${name}`,
    op: op as FilterOp,
    value,
    negated: not !== undefined,
    off: false,
  };
}
