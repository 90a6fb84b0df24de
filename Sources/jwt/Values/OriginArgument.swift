import Foundation
import Networking

/// The scheme, host and port of a server, such as `https://api.example`.
struct OriginArgument: ArgumentValue, Equatable {
    let text: String

    init(argument: String) throws(ValueError) {
        let parts = URIReference(argument)
        guard let scheme = parts.scheme, let authority = parts.authority, parts.path.isEmpty || parts.path == "/",
            parts.query == nil, parts.fragment == nil,
            let origin = Self(scheme: scheme, authority: authority)
        else { throw ValueError(message: "must be a scheme and a host, such as https://api.example") }
        self = origin
    }

    /// Creates an origin, or returns `nil` if the host isn't valid.
    init?(scheme: String, authority: String) {
        let text = "\(scheme.lowercased())://\(authority)"
        guard authority.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !Self.delimiters.contains($0) }),
            let url = URL(string: text, encodingInvalidCharacters: false), HTTPOrigin(url) != nil
        else { return nil }
        self.text = text
    }

    /// Characters that would add another part to the URL.
    private static let delimiters = Set("/?#@\\".utf8)
}
