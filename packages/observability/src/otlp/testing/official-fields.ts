/** The fields of opentelemetry-proto 1.45.2: number, name and type; `*` is repeated. By scripts/otlp-fields.mjs. */
export const OFFICIAL_FIELDS: Readonly<Record<string, string>> = {
  AnyValue:
    "1 stringValue string, 2 boolValue bool, 3 intValue int64, 4 doubleValue double, 5 arrayValue ArrayValue, 6 kvlistValue KeyValueList, 7 bytesValue bytes, 8 stringValueStrindex int32",
  ArrayValue: "1 values AnyValue*",
  KeyValueList: "1 values KeyValue*",
  KeyValue: "1 key string, 2 value AnyValue, 3 keyStrindex int32",
  InstrumentationScope: "1 name string, 2 version string, 3 attributes KeyValue*, 4 droppedAttributesCount uint32",
  EntityRef: "1 schemaUrl string, 2 type string, 3 idKeys string*, 4 descriptionKeys string*",
  Resource: "1 attributes KeyValue*, 2 droppedAttributesCount uint32, 3 entityRefs EntityRef*",
  TracesData: "1 resourceSpans ResourceSpans*",
  ResourceSpans: "1 resource Resource, 2 scopeSpans ScopeSpans*, 3 schemaUrl string",
  ScopeSpans: "1 scope InstrumentationScope, 2 spans Span*, 3 schemaUrl string",
  Span: "1 traceId bytes, 2 spanId bytes, 3 traceState string, 4 parentSpanId bytes, 16 flags fixed32, 5 name string, 6 kind enum, 7 startTimeUnixNano fixed64, 8 endTimeUnixNano fixed64, 9 attributes KeyValue*, 10 droppedAttributesCount uint32, 11 events Span.Event*, 12 droppedEventsCount uint32, 13 links Span.Link*, 14 droppedLinksCount uint32, 15 status Status",
  "Span.Event": "1 timeUnixNano fixed64, 2 name string, 3 attributes KeyValue*, 4 droppedAttributesCount uint32",
  "Span.Link":
    "1 traceId bytes, 2 spanId bytes, 3 traceState string, 4 attributes KeyValue*, 5 droppedAttributesCount uint32, 6 flags fixed32",
  Status: "2 message string, 3 code enum",
  LogsData: "1 resourceLogs ResourceLogs*",
  ResourceLogs: "1 resource Resource, 2 scopeLogs ScopeLogs*, 3 schemaUrl string",
  ScopeLogs: "1 scope InstrumentationScope, 2 logRecords LogRecord*, 3 schemaUrl string",
  LogRecord:
    "1 timeUnixNano fixed64, 11 observedTimeUnixNano fixed64, 2 severityNumber enum, 3 severityText string, 5 body AnyValue, 6 attributes KeyValue*, 7 droppedAttributesCount uint32, 8 flags fixed32, 9 traceId bytes, 10 spanId bytes, 12 eventName string",
  MetricsData: "1 resourceMetrics ResourceMetrics*",
  ResourceMetrics: "1 resource Resource, 2 scopeMetrics ScopeMetrics*, 3 schemaUrl string",
  ScopeMetrics: "1 scope InstrumentationScope, 2 metrics Metric*, 3 schemaUrl string",
  Metric:
    "1 name string, 2 description string, 3 unit string, 5 gauge Gauge, 7 sum Sum, 9 histogram Histogram, 10 exponentialHistogram ExponentialHistogram, 11 summary Summary, 12 metadata KeyValue*",
  Gauge: "1 dataPoints NumberDataPoint*",
  Sum: "1 dataPoints NumberDataPoint*, 2 aggregationTemporality enum, 3 isMonotonic bool",
  Histogram: "1 dataPoints HistogramDataPoint*, 2 aggregationTemporality enum",
  ExponentialHistogram: "1 dataPoints ExponentialHistogramDataPoint*, 2 aggregationTemporality enum",
  Summary: "1 dataPoints SummaryDataPoint*",
  NumberDataPoint:
    "7 attributes KeyValue*, 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 asDouble double, 6 asInt sfixed64, 5 exemplars Exemplar*, 8 flags uint32",
  HistogramDataPoint:
    "9 attributes KeyValue*, 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 count fixed64, 5 sum double, 6 bucketCounts fixed64*, 7 explicitBounds double*, 8 exemplars Exemplar*, 10 flags uint32, 11 min double, 12 max double",
  ExponentialHistogramDataPoint:
    "1 attributes KeyValue*, 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 count fixed64, 5 sum double, 6 scale sint32, 7 zeroCount fixed64, 8 positive ExponentialHistogramDataPoint.Buckets, 9 negative ExponentialHistogramDataPoint.Buckets, 10 flags uint32, 11 exemplars Exemplar*, 12 min double, 13 max double, 14 zeroThreshold double",
  "ExponentialHistogramDataPoint.Buckets": "1 offset sint32, 2 bucketCounts uint64*",
  SummaryDataPoint:
    "7 attributes KeyValue*, 2 startTimeUnixNano fixed64, 3 timeUnixNano fixed64, 4 count fixed64, 5 sum double, 6 quantileValues SummaryDataPoint.ValueAtQuantile*, 8 flags uint32",
  "SummaryDataPoint.ValueAtQuantile": "1 quantile double, 2 value double",
  Exemplar:
    "7 filteredAttributes KeyValue*, 2 timeUnixNano fixed64, 3 asDouble double, 6 asInt sfixed64, 4 spanId bytes, 5 traceId bytes",
  ExportTraceServiceRequest: "1 resourceSpans ResourceSpans*",
  ExportTraceServiceResponse: "1 partialSuccess ExportTracePartialSuccess",
  ExportTracePartialSuccess: "1 rejectedSpans int64, 2 errorMessage string",
  ExportLogsServiceRequest: "1 resourceLogs ResourceLogs*",
  ExportLogsServiceResponse: "1 partialSuccess ExportLogsPartialSuccess",
  ExportLogsPartialSuccess: "1 rejectedLogRecords int64, 2 errorMessage string",
  ExportMetricsServiceRequest: "1 resourceMetrics ResourceMetrics*",
  ExportMetricsServiceResponse: "1 partialSuccess ExportMetricsPartialSuccess",
  ExportMetricsPartialSuccess: "1 rejectedDataPoints int64, 2 errorMessage string",
};
