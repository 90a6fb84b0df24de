public import Foundation

/// An event of a server-sent event stream
/// ([WHATWG HTML §9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)).
public struct ServerSentEvent: Sendable, Hashable {
    /// The last event ID of the stream, which this event or an earlier one set; empty if none did.
    ///
    /// Store it to continue the stream later, with ``EventStreamOptions/lastEventID``.
    public var id: String
    /// The type of the event; `message` if the server doesn't name one.
    public var event: String
    /// The data, with its lines separated by line feeds.
    public var data: String
    /// The time to wait before reconnecting that the server sent with this event, at most an hour;
    /// `nil` if it sent none.
    ///
    /// The client applies it by itself.
    public var retry: Duration?

    /// Creates an event, for tests.
    ///
    /// - Parameters:
    ///   - id: The last event ID. The default is empty.
    ///   - event: The type of the event. The default is `message`.
    ///   - data: The data.
    ///   - retry: The time to wait before reconnecting. The default is `nil`.
    public init(id: String = "", event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }

    /// Decodes the data as JSON.
    ///
    /// - Parameters:
    ///   - model: The type of the model.
    ///   - decoder: The decoder. The default is a plain `JSONDecoder`.
    /// - Returns: The model.
    /// - Throws: ``NetworkError`` with the code `decoding` and a ``DecodingFailure`` as its cause.
    public func decode<Model: Decodable>(
        as model: Model.Type = Model.self,
        decoder: JSONDecoder = JSONDecoder()
    ) throws -> Model {
        do {
            return try decoder.decode(model, from: Data(data.utf8))
        } catch {
            throw NetworkError(
                .decoding,
                "the data of a server-sent event couldn't be decoded as \(model)",
                cause: DecodingFailure(error)
            )
        }
    }
}
