export { compileGlob } from "../wildcards.ts";
export { type Completion, type CompletionOption, completeQuery } from "./complete.ts";
export { durationMs } from "./duration.ts";
export {
  attributeKey,
  type EngineFilter,
  engineFilterOf,
  fieldName,
  LOG_FIELDS,
  LOG_LEVELS,
  type QueryField,
  STATE_FIELDS,
  TRACE_FIELDS,
} from "./fields.ts";
export { type LogMembers, type LogQuery, logQueryOf, readLogQuery } from "./log-query.ts";
export { readStateQuery, type StateItem, type StateQuery } from "./state-query.ts";
export {
  activeTerms,
  type ErrorTerm,
  type FieldTerm,
  type FilterOp,
  type FilterTerm,
  formatFilter,
  formatTerm,
  type GroupTerm,
  parseFilter,
  problemText,
  type QueryProblem,
  type TextTerm,
} from "./terms.ts";
export {
  type QueryGroup,
  type ReadQuery,
  readTraceQuery,
  type TraceMembers,
  type TraceQuery,
  traceQueryOf,
} from "./trace-query.ts";
