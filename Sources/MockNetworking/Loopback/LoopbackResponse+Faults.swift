import Foundation
package import Networking

extension LoopbackResponse {
    /// The point in a response at which the server cuts the connection.
    @nonexhaustive
    public enum CutPoint: Sendable, Hashable {
        /// The point before the first byte.
        case beforeHead
        /// The point between the header and the body.
        case afterHead
        /// The point after a number of bytes of the body as sent, including chunk sizes.
        case afterBody(octets: Int)
        /// The point after a number of bytes of the whole message.
        case after(octets: Int)
    }

    /// Returns the response with a delay before the header, measured by the server's
    /// ``LoopbackServer/Configuration/time``.
    ///
    /// - Parameter duration: The delay.
    /// - Returns: The delayed response.
    public func delayed(by duration: Duration) -> Self {
        changed { $0.pausesBeforeHead.append(.delay(duration)) }
    }

    /// Returns the response with a delay between the header and the body, measured by the server's
    /// ``LoopbackServer/Configuration/time``.
    package func bodyDelayed(by duration: Duration) -> Self {
        changed { $0.pausesBeforeBody.append(.delay(duration)) }
    }

    /// Returns the response with a gate that holds it back.
    ///
    /// - Parameter gate: The gate, which a test opens.
    /// - Returns: The gated response.
    public func gated(by gate: ResponseGate) -> Self {
        changed { $0.pausesBeforeHead.append(.gate(gate)) }
    }

    /// Returns the response with a gate between the header and the body.
    package func bodyGated(by gate: ResponseGate) -> Self {
        changed { $0.pausesBeforeBody.append(.gate(gate)) }
    }

    /// Returns the response with an interim response before it, with a status code of 100…199
    /// ([RFC 9110 §15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)).
    package func preceded(by status: Int, headers: HTTPHeaders = [:]) -> Self {
        changed { $0.interim.append(Interim(status: status, headers: headers)) }
    }

    /// Returns the response with a cut, at which the server closes the connection.
    ///
    /// - Parameters:
    ///   - point: The point of the cut. In a shorter response, the cut comes at the end.
    ///   - resetting: Whether to reset the connection (RST), which the client sees as an error,
    ///     instead of closing it in an orderly way (FIN). The default is `false`.
    /// - Returns: The cut response.
    public func cut(_ point: CutPoint, resetting: Bool = false) -> Self {
        changed { $0.cut = Cut(point: point, resets: resetting) }
    }

    /// Returns the response with a `Connection: close` header field, after which the server closes
    /// the connection in an orderly way.
    ///
    /// - Returns: The response that closes its connection.
    public func closing() -> Self {
        changed { $0.closesConnection = true }
    }

    /// Returns the response without a close_notify when the server closes the connection during or
    /// after it.
    ///
    /// This imitates an attacker who cuts the connection
    /// ([RFC 8446 §6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)). It has no effect
    /// without TLS, and doesn't itself close the connection; use ``closing()``, for example.
    ///
    /// - Returns: The truncated response.
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
    /// Returns the fields with a `Content-Type` in front, unless they already have one.
    func withContentType(_ type: String) -> Self {
        self["Content-Type"] == nil ? Self([Field(name: "Content-Type", value: type)] + Array(self)) : self
    }
}
