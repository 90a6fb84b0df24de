import Foundation
import Networking
import OAuth2
import OpenSSLCrypto

/// The canonical forms of a request's parts, as bytes
/// ([AWS](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html)).
enum AWSCanonical {
    static func isNameCharacter(_ byte: UInt8) -> Bool { byte.isUnreserved && byte != UInt8(ascii: "~") }

    static func lines(_ lines: [UInt8]...) -> [UInt8] { Array(lines.joined(separator: [0x0A])) }

    static func hash(of octets: [UInt8]) throws(CryptoError) -> [UInt8] {
        try octets.withBytes { bytes throws(CryptoError) in try hash(of: bytes) }
    }

    /// Returns the SHA-256 hash in hexadecimal digits.
    static func hash(of octets: RawSpan) throws(CryptoError) -> [UInt8] {
        Array(try HashFunction.sha256.hash(octets).hexadecimal.utf8)
    }

    // MARK: Paths

    /// The path of an object: each segment is decoded, and encoded once.
    static func objectPath(_ path: String) -> [UInt8] {
        let segments = Array(path.utf8).split(separator: slash, omittingEmptySubsequences: false)
        return Array(segments.map { encoded($0, isEncoded: true) }.joined(separator: [slash]))
    }

    /// Any other path, without empty and dot segments, and encoded once more.
    static func path(_ path: String) -> [UInt8] {
        let octets = Array(path.utf8)
        var segments: [ArraySlice<UInt8>] = []
        for segment in octets.split(separator: slash) {
            if segment.elementsEqual("..".utf8) {
                _ = segments.popLast()
            } else if !segment.elementsEqual(".".utf8) {
                segments.append(segment)
            }
        }
        let text = segments.flatMap { [slash] + encoded($0, isEncoded: false) }
        return segments.isEmpty || octets.last == slash ? text + [slash] : text
    }

    private static let slash = UInt8(ascii: "/")

    // MARK: Queries

    /// The parameters in the order of their encoded names and values.
    static func query(_ query: String) -> [UInt8] {
        let pairs = Array(query.utf8).split(separator: UInt8(ascii: "&")).map { pair in
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            return (
                name: encoded(pair[..<end], isEncoded: true),
                value: encoded(pair[end...].dropFirst(), isEncoded: true)
            )
        }
        let sorted = pairs.sorted { left, right in
            left.name == right.name
                ? left.value.lexicographicallyPrecedes(right.value) : left.name.lexicographicallyPrecedes(right.name)
        }
        return Array(sorted.map { $0.name + [UInt8(ascii: "=")] + $0.value }.joined(separator: [UInt8(ascii: "&")]))
    }

    private static let signatureParameters = [
        "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-Signature",
        "X-Amz-SignedHeaders",
    ]

    /// Returns a query without the parameters of a signature.
    static func unsignedQuery(_ query: String) -> String {
        let kept = query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).filter { pair in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            return !signatureParameters.contains { name.elementsEqual($0.utf8) }
        }
        return kept.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "&")
    }

    /// Returns text in which all bytes but unreserved ones are escapes.
    ///
    /// The escapes of encoded text are decoded before. Malformed ones aren't escapes.
    private static func encoded(_ octets: ArraySlice<UInt8>, isEncoded: Bool) -> [UInt8] {
        var (decoded, rest) = ([UInt8](), octets)
        while let byte = rest.popFirst() {
            let isEscape = isEncoded && byte == UInt8(ascii: "%")
            let digits = isEscape ? rest.prefix(2).compactMap(\.hexadecimalValue) : []
            decoded.append(digits.count == 2 ? digits[0] << 4 | digits[1] : byte)
            if digits.count == 2 { rest = rest.dropFirst(2) }
        }
        return Array(PercentEncoding.encode(octets: decoded, keeping: PercentEncoding.isUnreserved).utf8)
    }

    // MARK: Fields

    /// The fields to sign in the order of their lowercase names.
    struct Fields {
        /// `host;x-amz-date`.
        private(set) var names: [UInt8] = []
        /// A line for each field, which ends with a line feed.
        private(set) var lines: [UInt8] = []

        var signedHeaders: String { String(decoding: names, as: UTF8.self) }

        init(_ headers: HTTPHeaders, host: String, omitting unsigned: Set<String>) {
            var fields: [(name: String, value: String)] = headers["Host"] == nil ? [("host", host)] : []
            for field in headers {
                let name = field.name.lowercased()
                if !unsigned.contains(name) { fields.append((name, field.value)) }
            }
            // The standard library's sort is stable, so repeated fields keep their order.
            fields.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            lines.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 })
            var last: String?
            for (name, value) in fields {
                if last?.utf8.elementsEqual(name.utf8) == true {
                    lines[lines.count - 1] = UInt8(ascii: ",")
                } else {
                    if last != nil { names.append(UInt8(ascii: ";")) }
                    names += name.utf8
                    lines += name.utf8
                    lines.append(UInt8(ascii: ":"))
                }
                append(trimmed: value)
                lines.append(0x0A)
                last = name
            }
        }

        /// Appends a value without white space at the ends, and with a single space elsewhere.
        private mutating func append(trimmed value: String) {
            let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
            // Most values, such as a session's token, have none.
            guard value.utf8.contains(where: isSpace) else { return lines += value.utf8 }
            for (index, word) in value.utf8.split(whereSeparator: isSpace).enumerated() {
                if index > 0 { lines.append(0x20) }
                lines += word
            }
        }
    }
}

/// The URL of a request as it's sent, and the parts of it that are signed.
struct AWSRequestTarget {
    let path: String
    let query: String
    let host: String
    /// The host that must be sent instead of the URL's spelling.
    let replacedHost: String?
    /// The URL without a fragment, and without a `+` in the query.
    let url: URL
    private let reference: URIReference

    init(_ url: URL) throws(WorkloadIdentityError) {
        var reference = URIReference(url.absoluteString)
        guard let origin = HTTPOrigin(url), reference.authority?.utf8.contains(UInt8(ascii: "@")) == false else {
            throw AWSSignatureV4.unsignable("the URL has no host, or has user information; pass an absolute URL")
        }
        let hasPlus = reference.query?.utf8.contains(UInt8(ascii: "+")) ?? false
        let isChanged = hasPlus || reference.fragment != nil
        reference.fragment = nil
        if hasPlus { reference.query = reference.query?.replacing("+", with: "%20") }
        path = reference.path.isEmpty ? "/" : reference.path
        query = reference.query ?? ""
        let isDefault = origin.port == (origin.scheme == "https" ? 443 : 80)
        host = isDefault ? origin.host : origin.description
        replacedHost = reference.authority == host ? nil : host
        self.url = isChanged ? URL(string: reference.text) ?? url : url
        self.reference = reference
    }

    /// The URL for others, who send the host as they read it.
    func url(query: String) -> URL? {
        var signed = reference
        signed.query = query
        signed.authority = host
        if signed.path.isEmpty { signed.path = "/" }
        return URL(string: signed.text)
    }
}

/// The time of a signature: `20150830T123600Z`.
struct AWSTime: CustomStringConvertible {
    private static let format = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)

    let description: String

    init(_ date: Date) {
        // Years with four digits.
        let seconds = min(max(Int(clamping: date.timeIntervalSince1970), 0), 253_402_300_799)
        description = Date(timeIntervalSince1970: Double(seconds)).formatted(Self.format)
    }

    var day: String { String(description.prefix(8)) }
}

/// The key for the signatures of one day with one pair of credentials.
struct AWSSigningKey: Sendable {
    /// `20150830/us-east-1/iam/aws4_request`.
    let scope: String
    private let credentials: AWSCredentials
    private let code: HMAC

    init(_ credentials: AWSCredentials, at time: AWSTime, region: String, service: String) throws {
        guard [service, region].allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(AWSCanonical.isNameCharacter) }) else {
            throw AWSSignatureV4.unsignable(
                "the names of the service and the region are letters, digits, “-”, “_” and “.”"
            )
        }
        try credentials.check()
        let parts = [time.day, region, service, "aws4_request"]
        scope = parts.joined(separator: "/")
        self.credentials = credentials
        code = try credentials.secretAccessKey.expose { secret in
            var code = try Self.code(with: Array("AWS4\(secret)".utf8))
            for part in parts {
                code = try Self.code(
                    with: Array(part.utf8).withBytes { bytes throws(CryptoError) in
                        try code.authenticationCode(for: bytes)
                    }
                )
            }
            return code
        }
    }

    func serves(_ credentials: AWSCredentials, at time: AWSTime) -> Bool {
        scope.hasPrefix(time.day) && self.credentials == credentials
    }

    func signature(of text: [UInt8]) throws(CryptoError) -> String {
        try text.withBytes { bytes throws(CryptoError) in try code.authenticationCode(for: bytes) }.hexadecimal
    }

    private static func code(with key: [UInt8]) throws(CryptoError) -> HMAC {
        let secret = key.withBytes { SecretBytes(copying: $0) }
        return try HMAC(.sha256, key: secret)
    }
}
