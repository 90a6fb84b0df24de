import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// The places from which status lists may be fetched.
///
/// The URI of a list comes from a token. Without such a list, a malicious issuer could make this
/// server send requests to any host (SSRF).
struct StatusListLocations: Sendable {
    private struct Place {
        let text: String
        let origin: HTTPOrigin
        let path: String
    }

    private let places: [Place]

    init(_ urls: [URL]) {
        places = urls.compactMap { url in
            guard let origin = HTTPOrigin(url) else { return nil }
            let path = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? ""
            return Place(text: url.absoluteString, origin: origin, path: path.isEmpty ? "/" : path)
        }
    }

    /// Returns the URL of a list, the URI in a token, or throws `statusRejected` if the list must
    /// not be fetched.
    func url(of uri: String) throws(TokenError) -> URL {
        guard let url = URL(string: uri), let origin = HTTPOrigin(url), origin.isConfidential,
            let parts = URLComponents(string: uri), parts.user == nil, parts.password == nil, parts.fragment == nil
        else {
            throw TokenError(.statusRejected, "the token's status list must have an https URL without fragment")
        }
        let path = parts.percentEncodedPath
        let isAllowed = places.contains { place in
            guard place.origin == origin else { return false }
            if place.text.isExactly(uri) { return true }
            return place.path.hasSuffix("/") && path.utf8.starts(with: place.path.utf8)
                && parts.percentEncodedQuery == nil && !Self.leavesFolder(path)
        }
        guard isAllowed else {
            throw TokenError(.statusRejected, "the token's status list isn't at an allowed location")
        }
        return url
    }

    /// Returns whether servers may read a path as one outside of its folder.
    private static func leavesFolder(_ path: String) -> Bool {
        let path = path.lowercased()
        return path.contains("%2f") || path.contains("%5c") || path.contains("\\")
            || path.split(separator: "/").contains { segment in
                let name = segment.replacing("%2e", with: ".")
                return name == "." || name == ".."
            }
    }
}
