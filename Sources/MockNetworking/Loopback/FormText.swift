import Foundation
import Networking

/// A parser of `application/x-www-form-urlencoded` text that never fails.
enum FormText {
    /// Returns the names and values, in order; a name without `=` has no value.
    static func items(in text: some Sequence<UInt8>) -> [URLQueryItem] {
        Array(text).split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(decoding: FormURLEncoded.decodeLeniently($0), as: UTF8.self) }
            return URLQueryItem(name: parts[0], value: parts.count > 1 ? parts[1] : nil)
        }
    }
}
