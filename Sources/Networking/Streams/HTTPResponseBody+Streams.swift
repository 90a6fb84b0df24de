public import Foundation

extension HTTPResponseBody {
    /// Returns the events in the body of an event stream
    /// ([WHATWG HTML §9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)), for a
    /// response that was requested by other means, without reconnecting.
    ///
    /// ```swift
    /// let response = try await client.stream(request, options: options)
    /// for try await event in response.stream.events() { print(event.data) }
    /// ```
    ///
    /// After the loop was left early, ``cancel()`` ends the transfer.
    ///
    /// - Parameter maximumEventSize: The maximum size of a line and of an event's data, in bytes.
    ///   The default is 1 MiB.
    /// - Returns: The events, which end with the body. All iterators share its position.
    public func events(maximumEventSize: Int = 1 << 20) -> ServerSentEvents {
        ServerSentEvents(source: .body(self, maximumEventSize: maximumEventSize))
    }

    /// Returns the JSON values in the body, decoded while they're received.
    ///
    /// ```swift
    /// let response = try await client.stream(request, options: options)
    /// for try await report in response.stream.values(of: Report.self) {
    ///     print(report.title)
    /// }
    /// ```
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
        JSONValues(
            source: .body(self),
            splitter: JSONSplitter(framing, maximumSize: maximumValueSize),
            decoder: decoder
        )
    }
}
