import Foundation
import FoundationNetworking

/// The reading of an event stream, over one connection after the other.
struct EventStream {
    private enum Step {
        case event(ServerSentEvent)
        case reconnect
        case end
    }

    private var connector: EventStreamConnector?
    private var parser: ServerSentEventParser
    private var reader: BodyReader
    private var reconnection = Reconnection()
    /// The start of the current connection, and whether it has delivered an event.
    private var connection: (start: ContinuousClock.Instant, hasEvents: Bool)?
    private var hasEnded = false

    /// Creates a stream that connects when it's read.
    init(_ connector: EventStreamConnector) {
        self.connector = connector
        reader = BodyReader()
        parser = ServerSentEventParser(
            lastEventID: connector.options.lastEventID,
            maximumSize: connector.options.maximumEventSize
        )
    }

    /// Creates a stream that reads a body.
    init(_ body: HTTPResponseBody, maximumEventSize: Int) {
        connector = nil
        reader = BodyReader(body)
        parser = ServerSentEventParser(maximumSize: maximumEventSize)
    }

    mutating func next() async throws -> ServerSentEvent? {
        guard !hasEnded else { return nil }
        // Stays true after an error.
        hasEnded = true
        do {
            while true {
                switch try await step() {
                case .event(let event):
                    hasEnded = false
                    return event
                case .reconnect: continue
                case .end:
                    reader.close()
                    return nil
                }
            }
        } catch {
            reader.close()
            throw error
        }
    }

    private mutating func step() async throws -> Step {
        if !reader.isOpen {
            let response: HTTPResponse?
            do {
                response = try await connector?.open(lastEventID: parser.lastEventID)
            } catch {
                return try await reconnect(after: error)
            }
            // With a 204, the server ends the stream for good.
            guard let response, let connector, response.status != 204 else { return .end }
            try connector.check(response)
            parser.restart()
            reader = BodyReader(response.stream)
            connection = (connector.timeSource.now(), false)
        }
        while true {
            if let event = try parser.next(in: reader.part, from: &reader.index) {
                connection?.hasEvents = true
                return .event(event)
            }
            do {
                guard try await reader.advance() else { return try await reconnect(after: nil) }
            } catch {
                return try await reconnect(after: error)
            }
        }
    }

    /// Waits until it's time to reconnect after a failure, or, with `nil`, after the stream ended.
    private mutating func reconnect(after failure: (any Error)?) async throws -> Step {
        reader.close()
        guard let connector else {
            if let failure { throw failure }
            return .end
        }
        try Task.checkCancellation()
        if let connection {
            let duration = connector.timeSource.now() - connection.start
            reconnection.noteEnd(of: duration, hasEvents: connection.hasEvents)
        }
        connection = nil
        let error = failure?.naming(connector.endpoint) ?? connector.ended
        let state = reconnection.state(error)
        let delay: Duration
        switch connector.action(after: error, state) {
        case .none:
            if failure != nil { throw error }
            return .end
        case .noRetry(let reason): throw error.ending(reason: reason, state)
        case .retry: delay = .zero
        case .retryAfter(let time): delay = time
        }
        let time = parser.reconnectionTime ?? connector.options.reconnectionTime
        let wait = reconnection.delay(delay, after: time)
        try await connector.timeSource.sleep(wait)
        return .reconnect
    }
}
