/// The budget for the body of a redirect that is followed: it says nothing that the client needs, and the server may never end it.
///
/// A body that stays within the budget is read, so that its connection can be used again. A larger or slower one is given up, with its
/// connection, and the redirect is followed.
package enum RedirectBody {
    /// The most octets that are read.
    package static let maximumSize = 64 << 10
    /// The longest time after the header for which the body is read.
    package static let patience = Duration.seconds(1)

    /// A Boolean value that indicates whether the body of a response with this header is a redirect's.
    static func belongs(to status: Int, _ fields: [HTTPHeaders.Field]) -> Bool {
        switch status {
        case 300, 301, 302, 303, 307, 308: fields.contains { $0.name.equalsIgnoringASCIICase("Location") }
        default: false
        }
    }
}
