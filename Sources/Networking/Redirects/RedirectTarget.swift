import Foundation
import OpenSSLCrypto

/// The target of a `Location` header field
/// ([RFC 9110 §10.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2)).
enum RedirectTarget {
    /// Returns the target of a response's `Location`, with the source's fragment if it has none;
    /// `nil` without a `Location`.
    ///
    /// - Throws: ``NetworkError`` with the code `redirectRefused` if `Location` isn't an `http` or
    ///   `https` URL, has user information or is ambiguous.
    static func url(in headers: HTTPHeaders, from source: URL) throws(NetworkError) -> URL? {
        let locations = Set(headers.values(for: "Location").map(ByteComparedString.init))
        guard locations.count <= 1 else { throw .refusedRedirect(source, "its Location fields contradict each other") }
        guard let location = locations.first?.text, !location.isEmpty else { return nil }
        var target = try reference(location, source).resolved(against: URIReference(source.absoluteString))
        if target.fragment == nil { target.fragment = URIReference(source.absoluteString).fragment }
        guard let scheme = target.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw .refusedRedirect(source, "its Location isn't an http or https URL")
        }
        // URLSession doesn't recognize an upper-case scheme.
        target.scheme = scheme
        // RFC 3986 §5.2.2: a reference with a scheme takes nothing from the base URL.
        guard let authority = target.authority, !authority.isEmpty else {
            throw .refusedRedirect(source, "its Location has a scheme but no host")
        }
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw .refusedRedirect(source, "its Location has user information")
        }
        guard let url = URL(string: target.text, encodingInvalidCharacters: false), let origin = HTTPOrigin(url),
            (1...65535).contains(origin.port), url.user == nil, url.password == nil
        else { throw .refusedRedirect(source, "its Location isn't a URL") }
        return url
    }

    /// Parses the field's value and percent-encodes invalid bytes, because servers often forget to.
    private static func reference(_ location: String, _ source: URL) throws(NetworkError) -> URIReference {
        // Some parsers treat a backslash as a slash and would see another host.
        guard location.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw .refusedRedirect(source, "its Location has a character that isn't valid in a URL")
        }
        var reference = URIReference(location)
        // In a host, percent-encoding would change the name.
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
    /// Returns the error of a rejected redirect.
    ///
    /// The message names the source's origin and nothing of the target.
    static func refusedRedirect(_ source: URL, _ reason: String) -> Self {
        let origin = HTTPOrigin(source).map(\.description) ?? "the server"
        return Self(.redirectRefused, "a redirect from \(origin) wasn't followed: \(reason)")
    }
}
