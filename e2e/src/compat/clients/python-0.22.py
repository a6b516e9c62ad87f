"""The published Python client of 0.22, in two packages."""

from types import SimpleNamespace

import iii
import iii.state
import iii_helpers.stream
from iii.channel import ChannelReader, ChannelWriter
from iii.helpers import create_channel, create_stream
from iii.trigger import TriggerHandler
from iii_helpers.http import HttpResponse, http
from iii_helpers.observability import Logger, ReconnectionConfig
from python_worker import main

main(
    SimpleNamespace(
        is_later=True,
        register_worker=iii.register_worker,
        InitOptions=iii.InitOptions,
        ReconnectionConfig=ReconnectionConfig,
        TriggerAction=iii.TriggerAction,
        TriggerHandler=TriggerHandler,
        ChannelReader=ChannelReader,
        ChannelWriter=ChannelWriter,
        http=http,
        HttpResponse=HttpResponse,
        IStream=iii.IStream,
        StreamSetResult=iii_helpers.stream.StreamSetResult,
        StreamDeleteResult=iii_helpers.stream.StreamDeleteResult,
        StateEventType=iii.state.StateEventType,
        create_channel=create_channel,
        create_stream=create_stream,
        Logger=Logger,
        models=(iii_helpers.stream, iii.state),
    )
)
