"""The published Python client of 0.11."""

from types import SimpleNamespace

import iii
import iii.state
import iii.stream
from python_worker import main

main(
    SimpleNamespace(
        is_later=False,
        register_worker=iii.register_worker,
        InitOptions=iii.InitOptions,
        ReconnectionConfig=iii.ReconnectionConfig,
        TriggerAction=iii.TriggerAction,
        TriggerHandler=iii.TriggerHandler,
        ChannelReader=iii.ChannelReader,
        ChannelWriter=iii.ChannelWriter,
        http=iii.http,
        HttpResponse=iii.ApiResponse,
        IStream=iii.IStream,
        StreamSetResult=iii.stream.StreamSetResult,
        StreamDeleteResult=iii.stream.StreamDeleteResult,
        StateEventType=iii.state.StateEventType,
        create_channel=lambda client, size: client.create_channel(size),
        create_stream=lambda client, name, stream: client.create_stream(name, stream),
        Logger=iii.Logger,
        models=(iii.stream, iii.state),
    )
)
