public import Foundation
import Networking

extension MockAuthorizationServer.Fault {
    /// A redirect.
    ///
    /// - Parameters:
    ///   - url: Where it points.
    ///   - status: The status.
    /// - Returns: The fault.
    public static func redirect(to url: URL, status: Int = 302) -> Self {
        .response(.status(status, headers: ["Location": url.absoluteString]))
    }

    /// JSON that is larger than anybody should read: `{"keys":[],"padding":"…"}`.
    ///
    /// - Parameter size: How many octets the padding has.
    /// - Returns: The fault.
    public static func huge(_ size: Int = 8 << 20) -> Self {
        .response(.json(#"{"keys":[],"padding":"\#(String(repeating: "x", count: size))"}"#))
    }
}
