public import Foundation

extension NetworkClient {
    /// Returns the events that a server sends in response to a request
    /// ([WHATWG HTML §9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)), and
    /// reconnects when the connection ends.
    ///
    /// ```swift
    /// for try await event in client.events(for: request) {
    ///     print(event.id, event.event, event.data)
    /// }
    /// ```
    ///
    /// Each connection is a request of this client, with its interceptors, credentials and
    /// redirects. Unless the request sets them, the client adds `Accept: text/event-stream` and
    /// `Cache-Control: no-store`. When it reconnects, it sends the ID of the last event as
    /// `Last-Event-ID`, if a header field can contain it. The response must have the status 200 and
    /// the type `text/event-stream`; a 204 ends the stream.
    ///
    /// The client reconnects after the time that the server last sent as `retry`, plus the delay of
    /// the policy. The default policy never repeats a request that isn't idempotent, such as a
    /// `POST`; the end of its response ends the stream.
    ///
    /// - Parameters:
    ///   - source: A URL, a request, an endpoint or a resource, for each connection. A timeout of
    ///     the request limits the time to the response's header. The options replace a resource's
    ///     own.
    ///   - lastEventID: The ID of the last event that an earlier stream received, to continue after
    ///     it; empty, the default, for none. The client sends it as `Last-Event-ID`, and replaces
    ///     it by the IDs that it receives.
    ///   - reconnectionTime: The time to wait before reconnecting, until the server sends another;
    ///     at most an hour. The default is 3 seconds.
    ///   - reconnection: The policy that decides whether to reconnect; `nil` to read a single
    ///     response. The client asks it after each failed request, and whenever a stream ends,
    ///     which counts as the error `connectionLost`. Its delay is added to the reconnection time.
    ///     Its state counts the failures in a row: a stream that delivered an event or lasted a
    ///     minute resets it. The default is ``Retry/Policy/reconnecting(_:)``.
    ///   - maximumEventSize: The maximum size of a line, and of the data of an event, in bytes. The
    ///     default is 1 MiB.
    ///   - options: The options that override the client's. Their `timeout` and the request's
    ///     `timeoutInterval` limit the time until the response's header arrives, and not the
    ///     stream. The idle timeout is 5 minutes unless these options specify it: a server that has
    ///     no events should send a comment more often. A `maximumBodySize` in these options limits
    ///     each response; by default, there's no limit.
    ///   - onResponse: A closure that gets the header fields of the response of each connection,
    ///     before its events, for what a server says once, such as the ID of a session. It runs in
    ///     the task of the reader. The default is `nil`.
    /// - Returns: The events; ``ServerSentEvents/Iterator/next()`` lists the errors.
    public func events(
        for source: some RequestConvertible,
        lastEventID: String = "",
        reconnectionTime: Duration = .seconds(3),
        reconnection: Retry.Policy? = .reconnecting(),
        maximumEventSize: Int = 1 << 20,
        options: RequestOptions = RequestOptions(),
        onResponse: (@Sendable (HTTPHeaders) -> Void)? = nil
    ) -> ServerSentEvents {
        let options = EventStreamOptions(
            lastEventID: lastEventID,
            reconnectionTime: reconnectionTime,
            reconnection: reconnection,
            maximumEventSize: maximumEventSize,
            request: options,
            onResponse: onResponse
        )
        return events(for: source, options: options)
    }

    package func events(for source: some RequestConvertible, options: EventStreamOptions) -> ServerSentEvents {
        let connector = EventStreamConnector(client: self, resource: source.makeResource(), options: options)
        return ServerSentEvents(stream: EventStream(connector))
    }

    /// Returns the JSON values in the response to a request, decoded while they're received.
    ///
    /// ```swift
    /// for try await report in client.values(of: Report.self, for: request) {
    ///     print(report.title)
    /// }
    /// ```
    ///
    /// Each iterator sends the request once, and the client's interceptors can retry it until the
    /// response's header has arrived. Unless the request sets `Accept`, the client adds the media
    /// types of the framing. It doesn't check the type of the response.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - source: A URL, a request, an endpoint or a resource. A timeout of the request limits the
    ///     time to the response's header.
    ///   - framing: The way in which the values are separated. The default is one per line.
    ///   - decoder: The decoder. The default is a plain `JSONDecoder`.
    ///   - maximumValueSize: The maximum size of a value in bytes. The default is 1 MiB.
    ///   - options: The options that override the client's, in place of a resource's. As for
    ///     events, timeouts end with the header, the idle timeout is 5 minutes, and there's no
    ///     limit on the body's size, unless these options specify them. The default is `nil`.
    /// - Returns: The values; ``JSONValues/Iterator/next()`` lists the errors.
    public func values<Value: Decodable & SendableMetatype>(
        of type: Value.Type = Value.self,
        for source: some RequestConvertible,
        framing: JSONFraming = .lines,
        decoder: JSONDecoder = JSONDecoder(),
        maximumValueSize: Int = 1 << 20,
        options: RequestOptions? = nil
    ) -> JSONValues<Value> {
        var resource = source.makeResource().with(options)
        resource.options.idleTimeout = resource.options.idleTimeout ?? EventStreamOptions.idleTimeout
        let splitter = JSONSplitter(framing, maximumSize: maximumValueSize)
        return JSONValues(iterator: .init(source: .resource(resource, self), splitter: splitter, decoder: decoder))
    }
}

extension HTTPResponseBody {
    /// Returns the events in the body of an event stream
    /// ([WHATWG HTML §9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)), for a
    /// response that was requested by other means, without reconnecting.
    ///
    /// After the loop was left early, ``cancel()`` ends the transfer.
    ///
    /// - Parameter maximumEventSize: The maximum size of a line and of an event's data, in bytes.
    ///   The default is 1 MiB.
    /// - Returns: The events, which end with the body. All iterators share its position.
    public func events(maximumEventSize: Int = 1 << 20) -> ServerSentEvents {
        ServerSentEvents(stream: EventStream(self, maximumEventSize: maximumEventSize))
    }

    /// Returns the JSON values in the body, decoded while they're received.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - framing: The way in which the values are separated. The default is one per line.
    ///   - decoder: The decoder. The default is a plain `JSONDecoder`.
    ///   - maximumValueSize: The maximum size of a value in bytes. The default is 1 MiB.
    /// - Returns: The values, which end with the body. All iterators share its position.
    public func values<Value: Decodable & SendableMetatype>(
        of type: Value.Type = Value.self,
        framing: JSONFraming = .lines,
        decoder: JSONDecoder = JSONDecoder(),
        maximumValueSize: Int = 1 << 20
    ) -> JSONValues<Value> {
        let splitter = JSONSplitter(framing, maximumSize: maximumValueSize)
        return JSONValues(iterator: .init(source: .body(self), splitter: splitter, decoder: decoder))
    }
}

struct BodyReader {
    private var body: HTTPResponseBody?
    private(set) var part: [UInt8] = []
    var index = 0

    var isOpen: Bool { body != nil }

    init(_ body: HTTPResponseBody? = nil) {
        self.body = body
    }

    /// Returns `false` at the end of the body.
    mutating func advance() async throws -> Bool {
        var parts = body?.makeAsyncIterator()
        guard let next = try await parts?.next() else { return false }
        part = Array(next)
        index = 0
        return true
    }

    /// Ends the transfer, even if the caller still has the response.
    mutating func close() {
        body?.cancel()
        self = Self()
    }
}
