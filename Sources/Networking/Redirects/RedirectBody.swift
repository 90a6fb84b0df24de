/// The limits on reading the body of a followed redirect, which is irrelevant and may never end.
///
/// A body within the limits is read, so that its connection can be reused. Otherwise the client
/// closes the connection and follows the redirect.
package enum RedirectBody {
    /// The maximum number of bytes read.
    package static let maximumSize = 64 << 10
    /// The maximum time for reading the body, starting at the header.
    package static let patience = Duration.seconds(1)

    /// Returns whether a response with this header is a redirect.
    static func belongs(to status: Int, _ fields: [HTTPHeaders.Field]) -> Bool {
        switch status {
        case 300, 301, 302, 303, 307, 308: fields.contains { $0.name.equalsIgnoringASCIICase("Location") }
        default: false
        }
    }
}
