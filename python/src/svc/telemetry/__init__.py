"""Telemetry that a worker sends to the engine: log lines, spans and process metrics."""
