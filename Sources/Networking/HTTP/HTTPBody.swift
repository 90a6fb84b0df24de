public import Foundation

/// What a request carries.
public struct HTTPBody: Sendable {
    package enum Source: Sendable {
        case none
        case data(Data)
    }

    package let source: Source

    /// No body, and no `Content-Length`, except that methods which anticipate content send `Content-Length: 0`
    /// ([RFC 9110 §8.6](https://www.rfc-editor.org/rfc/rfc9110#section-8.6)).
    public static let none = Self(source: .none)

    /// A body held in memory.
    ///
    /// - Parameter data: The octets to send.
    /// - Returns: A body that can be sent as often as needed.
    public static func data(_ data: Data) -> Self {
        Self(source: .data(data))
    }

    /// The number of octets, if it is known before sending.
    public var contentLength: Int? {
        switch source {
        case .none: 0
        case .data(let data): data.count
        }
    }

    /// Whether the body can be sent again, as a retry must.
    public var isReplayable: Bool {
        switch source {
        case .none, .data: true
        }
    }
}
