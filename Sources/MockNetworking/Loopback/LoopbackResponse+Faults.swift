import Foundation
package import Networking

extension LoopbackResponse {
    /// Where in a response the connection is cut.
    public struct CutPoint: Sendable, Hashable {
        enum Place: Sendable, Hashable {
            case message(Int)
            case body(Int)
        }

        let place: Place

        /// Before the first octet.
        public static let beforeHead = Self(place: .message(0))
        /// After the header section, before the body.
        public static let afterHead = Self(place: .body(0))

        /// After so many octets of the body as it is on the wire, chunk sizes included.
        ///
        /// - Parameter octets: The number of octets.
        /// - Returns: The point.
        public static func afterBody(octets: Int) -> Self { Self(place: .body(octets)) }

        /// After so many octets of the whole message.
        ///
        /// - Parameter octets: The number of octets.
        /// - Returns: The point.
        public static func after(octets: Int) -> Self { Self(place: .message(octets)) }
    }

    /// Waits before the header section is sent, by the server's ``LoopbackServer/Configuration/time``.
    ///
    /// - Parameter duration: How long.
    /// - Returns: The response that waits.
    public func delayed(by duration: Duration) -> Self {
        changed { $0.pausesBeforeHead.append(.delay(duration)) }
    }

    /// Waits between the header section and the body, by the server's ``LoopbackServer/Configuration/time``.
    ///
    /// - Parameter duration: How long.
    /// - Returns: The response that waits.
    package func bodyDelayed(by duration: Duration) -> Self {
        changed { $0.pausesBeforeBody.append(.delay(duration)) }
    }

    /// Waits at a gate before the header section is sent.
    ///
    /// - Parameter gate: The gate that a test opens.
    /// - Returns: The response that waits.
    public func gated(by gate: ResponseGate) -> Self {
        changed { $0.pausesBeforeHead.append(.gate(gate)) }
    }

    /// Waits at a gate between the header section and the body.
    ///
    /// - Parameter gate: The gate that a test opens.
    /// - Returns: The response that waits.
    package func bodyGated(by gate: ResponseGate) -> Self {
        changed { $0.pausesBeforeBody.append(.gate(gate)) }
    }

    /// Sends an interim response first ([RFC 9110 §15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)).
    ///
    /// - Parameters:
    ///   - status: The status code, 100…199.
    ///   - headers: Its header fields.
    /// - Returns: The response that comes after it.
    package func preceded(by status: Int, headers: HTTPHeaders = [:]) -> Self {
        changed { $0.interim.append(Interim(status: status, headers: headers)) }
    }

    /// Ends the connection in the middle of the response, or after it if it is shorter.
    ///
    /// - Parameters:
    ///   - point: Where.
    ///   - resetting: Whether by a reset (RST), which the client sees as an error, instead of an orderly end (FIN).
    /// - Returns: The response that is cut.
    public func cut(_ point: CutPoint, resetting: Bool = false) -> Self {
        changed { $0.cut = Cut(point: point, resets: resetting) }
    }

    /// Ends the connection in an orderly way after the response, and says so in a `Connection` field.
    ///
    /// - Returns: The response that ends its connection.
    public func closing() -> Self {
        changed { $0.closesConnection = true }
    }

    /// Leaves out the close_notify where the server ends the connection in or after this response, as whoever cuts a
    /// connection on its way can ([RFC 8446 §6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)).
    ///
    /// Without TLS it changes nothing. Whether the connection ends is decided elsewhere, such as by ``closing()``.
    ///
    /// - Returns: The response that is truncated.
    public func withoutCloseNotify() -> Self {
        changed { $0.truncatesTLS = true }
    }

    private func changed(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension LoopbackResponse {
    enum Content: Sendable {
        case data(Data)
        case stream(
            length: Int?,
            trailers: HTTPHeaders,
            @Sendable (LoopbackBodyWriter) async throws -> Void
        )
        case raw(Data)
        case silence
    }

    enum Pause: Sendable {
        case delay(Duration)
        case gate(ResponseGate)
    }

    struct Interim: Sendable {
        var status: Int
        var headers: HTTPHeaders
    }

    struct Cut: Sendable {
        var point: CutPoint
        var resets: Bool
    }
}

extension HTTPHeaders {
    /// The fields with a `Content-Type` before them, unless they have one.
    func withContentType(_ type: String) -> Self {
        self["Content-Type"] == nil ? Self([Field(name: "Content-Type", value: type)] + Array(self)) : self
    }
}
