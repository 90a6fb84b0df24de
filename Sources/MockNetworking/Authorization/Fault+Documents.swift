public import Foundation
import Networking

extension MockAuthorizationServer.Fault {
    /// Responds with a redirect.
    ///
    /// - Parameters:
    ///   - url: The target.
    ///   - status: The status code. The default is 302.
    /// - Returns: The fault.
    public static func redirect(to url: URL, status: Int = 302) -> Self {
        .response(.status(status, headers: ["Location": url.absoluteString]))
    }

    /// Responds with JSON of excessive size: `{"keys":[],"padding":"…"}`.
    ///
    /// - Parameter size: The size of the padding in bytes. The default is 8 MiB.
    /// - Returns: The fault.
    public static func huge(_ size: Int = 8 << 20) -> Self {
        .response(.json(#"{"keys":[],"padding":"\#(String(repeating: "x", count: size))"}"#))
    }
}
