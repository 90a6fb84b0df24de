import Foundation
import OpenSSLCrypto

/// Where a `Location` header field points ([RFC 9110 §10.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2)).
enum RedirectTarget {
    /// Reads the `Location` of a response.
    ///
    /// - Parameters:
    ///   - headers: The response's header fields.
    ///   - source: The URL that answered.
    /// - Returns: The URL, with the fragment of the source if it has none of its own; `nil` if there is no `Location`, or an
    ///   empty one.
    /// - Throws: ``NetworkError`` with the code `redirectRefused` if it is no `http` or `https` URL, has user information or is
    ///   ambiguous.
    static func url(in headers: HTTPHeaders, from source: URL) throws(NetworkError) -> URL? {
        let locations = Set(headers.values(for: "Location").map(ByteComparedString.init))
        guard locations.count <= 1 else { throw .refusedRedirect(source, "its Location fields contradict each other") }
        guard let location = locations.first?.text, !location.isEmpty else { return nil }
        var target = try reference(location, source).resolved(against: URIReference(source.absoluteString))
        if target.fragment == nil { target.fragment = URIReference(source.absoluteString).fragment }
        guard let scheme = target.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw .refusedRedirect(source, "its Location is no http or https URL")
        }
        // URLSession does not know it in upper case.
        target.scheme = scheme
        // RFC 3986 §5.2.2: with a scheme, nothing is taken from the URL that answered.
        guard let authority = target.authority, !authority.isEmpty else {
            throw .refusedRedirect(source, "its Location has a scheme and no host")
        }
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw .refusedRedirect(source, "its Location has user information")
        }
        guard let url = URL(string: target.text, encodingInvalidCharacters: false), let origin = HTTPOrigin(url),
            (1...65535).contains(origin.port), url.user == nil, url.password == nil
        else { throw .refusedRedirect(source, "its Location is no URL") }
        return url
    }

    /// Takes the field's value apart, with octets that a URL can't have percent-encoded, as servers often forget to.
    private static func reference(_ location: String, _ source: URL) throws(NetworkError) -> URIReference {
        // A backslash is a slash to some parsers, so that two could see two hosts.
        guard location.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw .refusedRedirect(source, "its Location has a character that a URL can't have")
        }
        var reference = URIReference(location)
        // In a host, a percent-encoded octet would not be the name that was meant.
        guard reference.authority?.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }) != false
        else {
            throw .refusedRedirect(source, "the host in its Location is not in the IDNA form")
        }
        reference.path = repaired(reference.path)
        reference.query = reference.query.map(repaired)
        reference.fragment = reference.fragment.map(repaired)
        return reference
    }

    private static func repaired(_ text: String) -> String {
        PercentEncoding.repaired(text, allowing: PercentEncoding.isQueryCharacter)
    }
}

extension NetworkError {
    /// A redirect that is not followed; the text has the origin that sent it, and nothing of where it points to.
    static func refusedRedirect(_ source: URL, _ reason: String) -> Self {
        let origin = HTTPOrigin(source).map(\.description) ?? "the server"
        return Self(.redirectRefused, "a redirect of \(origin) was not followed: \(reason)")
    }
}
