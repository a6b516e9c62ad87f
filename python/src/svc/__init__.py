"""Python SDK of svc: functions, triggers and calls over one WebSocket.

import svc

worker = svc.connect(name="math-worker")

@worker.function("math::add")
def add(input: dict) -> dict:
    return {"c": input["a"] + input["b"]}

worker.run()
"""

from .backoff import ReconnectOptions
from .channel_ends import Channel
from .channel_reader import ChannelReader
from .channel_refs import ChannelRef
from .channel_writer import ChannelWriter
from .connect_worker import connect
from .connection import ConnectionState
from .context import HandlerContext, RunningJob
from .cron import Cron
from .cron_types import (
    CronEvent,
    CronMisfire,
    CronOutcome,
    CronOverlap,
    CronRun,
    CronSchedule,
    CronStanding,
    CronTriggerConfig,
    CronTriggered,
)
from .effects import Caller, Job
from .errors import CallError
from .events import EventMetadata, Events, EventTopic, EventTriggerConfig, SubscribeTriggerConfig
from .http_function import HttpFunction
from .http_handler import http
from .http_request import HttpFile, HttpRequest
from .http_response import HttpResponse, SyncHttpResponse
from .http_result import HttpResult, http_response, json_response, redirect_response
from .http_routes import HttpRoute, HttpRoutes, RouteOptions
from .logger import Logger
from .providers import TriggerBinding, TriggerHandler
from .queue_types import (
    DoneJob,
    DurableQueueConfig,
    DurableSubscriberTriggerConfig,
    EndedJob,
    EnqueuedJob,
    JobFailure,
    JobPage,
    JobProgress,
    JobState,
    JobToEnqueue,
    QueueJob,
    QueueStats,
    QueueTriggerConfig,
)
from .queues import Queues
from .registrar import FunctionRef, TriggerTypeRef
from .requests import CallRequest, EnqueueRequest, TriggerInput, TriggerTypeInput
from .state import State
from .state_types import (
    StateDeleteManyResult,
    StateEntry,
    StateEvent,
    StateGroup,
    StateGroupsPage,
    StateImportResult,
    StatePage,
    StateRecord,
    StateSetManyResult,
    StateSetResult,
    StateSnapshot,
    StateTriggerConfig,
    StateUpdateResult,
    StateWrite,
    StateWritten,
)
from .stream import Stream
from .stream_client import StreamClient, connect_streams
from .stream_collection import CollectionChange, StreamCollection
from .stream_messages import StreamGap, StreamSync, StreamUpdate, SubscriptionStatus
from .stream_subscription import StreamSubscription
from .stream_types import (
    StreamDeleteResult,
    StreamEntry,
    StreamEvent,
    StreamJoinAnswer,
    StreamJoinEvent,
    StreamJoinTriggerConfig,
    StreamListing,
    StreamPage,
    StreamSetResult,
    StreamTriggerConfig,
    StreamUpdateResult,
)
from .telemetry.options import TelemetryOptions
from .telemetry.spans import Span, SpanKind
from .triggers import Trigger
from .update_ops import UpdateOp, UpdateOpError
from .version import VERSION as __version__
from .worker import Worker

__all__ = [
    "connect",
    "Worker",
    "CallError",
    "HandlerContext",
    "Caller",
    "Job",
    "CallRequest",
    "EnqueueRequest",
    "FunctionRef",
    "HttpFunction",
    "HttpRoute",
    "HttpRoutes",
    "RouteOptions",
    "Trigger",
    "TriggerInput",
    "TriggerTypeInput",
    "TriggerTypeRef",
    "TriggerHandler",
    "TriggerBinding",
    "State",
    "StateDeleteManyResult",
    "StateEntry",
    "StateEvent",
    "StateGroup",
    "StateGroupsPage",
    "StateImportResult",
    "StatePage",
    "StateRecord",
    "StateSetManyResult",
    "StateSetResult",
    "StateSnapshot",
    "StateTriggerConfig",
    "StateUpdateResult",
    "StateWrite",
    "StateWritten",
    "Stream",
    "StreamDeleteResult",
    "StreamEntry",
    "StreamEvent",
    "StreamJoinAnswer",
    "StreamJoinEvent",
    "StreamJoinTriggerConfig",
    "StreamListing",
    "StreamPage",
    "StreamSetResult",
    "StreamTriggerConfig",
    "StreamUpdateResult",
    "connect_streams",
    "StreamClient",
    "StreamSubscription",
    "SubscriptionStatus",
    "StreamSync",
    "StreamUpdate",
    "StreamGap",
    "StreamCollection",
    "CollectionChange",
    "Cron",
    "CronEvent",
    "CronMisfire",
    "CronOutcome",
    "CronOverlap",
    "CronRun",
    "CronSchedule",
    "CronStanding",
    "CronTriggerConfig",
    "CronTriggered",
    "Events",
    "EventMetadata",
    "EventTopic",
    "EventTriggerConfig",
    "SubscribeTriggerConfig",
    "Queues",
    "DurableQueueConfig",
    "DurableSubscriberTriggerConfig",
    "DoneJob",
    "EndedJob",
    "EnqueuedJob",
    "JobFailure",
    "JobPage",
    "JobProgress",
    "JobState",
    "JobToEnqueue",
    "QueueJob",
    "QueueStats",
    "QueueTriggerConfig",
    "UpdateOp",
    "UpdateOpError",
    "Channel",
    "ChannelReader",
    "ChannelWriter",
    "ChannelRef",
    "http",
    "HttpRequest",
    "HttpFile",
    "HttpResponse",
    "SyncHttpResponse",
    "HttpResult",
    "http_response",
    "json_response",
    "redirect_response",
    "ConnectionState",
    "ReconnectOptions",
    "Logger",
    "RunningJob",
    "Span",
    "SpanKind",
    "TelemetryOptions",
    "__version__",
]
