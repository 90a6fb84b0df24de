public import Foundation
public import Networking
import OAuth2
import OpenSSLCrypto

/// A signer of requests to one service of AWS in one region, with Signature Version 4
/// ([AWS](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html)).
///
/// ```swift
/// let signature = AWSSignatureV4(service: "s3", region: "eu-central-1")
/// let url = try signature.presignedURL(object, with: credentials, validFor: .seconds(900))
/// ```
///
/// An ``AWSRequestSigner`` signs each request of a client. Use this type for a single request, or
/// for a URL that others use.
///
/// Paths are normalized and encoded twice, except for services whose names begin with `s3`: the
/// path is then the key of an object, and the request has `x-amz-content-sha256`. A `+` in a query
/// means a space, as AWS reads it, and is sent as `%20`.
public struct AWSSignatureV4: Sendable {
    /// The part of the body that a signature covers.
    public enum Payload: Sendable, Hashable {
        /// The whole body, which is read before it's sent.
        case signed
        /// Nothing of the body, which is sent without being read before: `UNSIGNED-PAYLOAD`.
        ///
        /// Only S3 accepts it, and only TLS then protects the body.
        case unsigned
    }

    /// The longest validity of a presigned URL: seven days.
    static let longestValidity = 604_800
    static let algorithm = "AWS4-HMAC-SHA256"
    private static let unsignedPayload = "UNSIGNED-PAYLOAD"
    private static let contentHash = "x-amz-content-sha256"
    /// Fields that proxies and transports change or add, as in the SDKs of AWS.
    private static let unsignedFields: Set<String> = [
        "accept-encoding", "authorization", "connection", "expect", "keep-alive", "proxy-authorization", "te",
        "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent", "via",
        "x-amzn-trace-id", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
    ]

    /// The name of the service in signatures, such as `s3`, `sts` or `execute-api`.
    public let service: String
    /// The region, such as `eu-central-1`.
    public let region: String
    /// A Boolean value that indicates whether the path is the key of an object.
    var keepsPath: Bool
    /// A Boolean value that indicates whether a request names the hash of its body.
    var sendsContentHash: Bool
    /// A Boolean value that indicates whether the session token is signed; AWS IoT adds it later.
    var signsSessionToken: Bool

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - service: The name of the service in signatures, usually the first part of its host.
    ///   - region: The region. Global services have one, too: usually `us-east-1`.
    public init(service: String, region: String) {
        self.service = service
        self.region = region
        keepsPath = service.hasPrefix("s3")
        sendsContentHash = keepsPath
        signsSessionToken = service != "iotdevicegateway"
    }

    /// Returns a request with a signature in its header fields.
    ///
    /// The signature covers the method, the URL, the body, and all header fields that proxies don't
    /// change. A request with `x-amz-content-sha256` keeps it, and its body isn't read.
    ///
    /// - Parameters:
    ///   - request: The request as it's sent.
    ///   - credentials: The credentials.
    ///   - payload: The part of the body that the signature covers. The default is the whole body.
    ///   - date: The current time. AWS accepts a difference of five minutes, S3 one of fifteen.
    /// - Returns: The request with `Authorization` and `X-Amz-Date`; `X-Amz-Security-Token` for
    ///   temporary credentials, and for S3 with `x-amz-content-sha256`. It's valid once.
    /// - Throws: ``WorkloadIdentityError`` with the code `unsignableRequest` for a body that can be
    ///   read only once, and for an unsigned body that isn't for S3 and TLS or this machine;
    ///   `malformedToken` if the credentials have invalid characters. Errors of reading the body.
    public func sign(
        _ request: HTTPRequest,
        with credentials: AWSCredentials,
        payload: Payload = .signed,
        at date: Date = Date()
    ) async throws -> HTTPRequest {
        var request = request
        let target = try AWSRequestTarget(request.url)
        request.url = target.url
        if let host = target.replacedHost, request.headers["Host"] == nil { request.headers["Host"] = host }
        let hash = try await contentHash(of: request, payload)
        request.headers = try signedFields(
            SignedParts(method: request.method.rawValue, path: target.path, query: target.query, contentHash: hash),
            host: target.host,
            request.headers,
            with: credentials,
            at: date
        ).fields
        return request
    }

    /// Returns a URL with a signature in its query, which anyone can use until it expires.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - method: The method for which the URL is valid. The default is `GET`.
    ///   - headers: The header fields that a request with the URL must have. The default is none.
    ///   - credentials: The credentials. The URL is valid at most as long as they are.
    ///   - duration: The duration from one second through seven days.
    ///   - date: The time from which it's valid. The default is now.
    /// - Returns: The URL. For S3, it's valid for every body, and otherwise for none.
    /// - Throws: ``WorkloadIdentityError`` with the code `unsignableRequest` for an invalid
    ///   duration or a URL without a host, or `malformedToken` if the credentials have invalid
    ///   characters.
    public func presignedURL(
        _ url: URL,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        with credentials: AWSCredentials,
        validFor duration: Duration,
        at date: Date = Date()
    ) throws -> URL {
        let seconds = duration.components.seconds
        guard (1...Int64(Self.longestValidity)).contains(seconds) else {
            throw Self.unsignable("a presigned URL is valid for one second through seven days; pass another duration")
        }
        let target = try AWSRequestTarget(url)
        let hash = keepsPath ? Self.unsignedPayload : try Self.hash(of: [])
        let signed = try signedQuery(
            SignedParts(method: method.rawValue, path: target.path, query: target.query, contentHash: hash),
            host: target.host,
            headers,
            with: credentials,
            lifetime: Int(clamping: seconds),
            at: date
        )
        guard let url = target.url(query: signed.query) else { throw Self.unsignable("the URL is malformed") }
        return url
    }

    // MARK: The forms of a signature

    /// The parts of a request that its signature covers, with the path and query of its URL.
    struct SignedParts {
        var method: String
        var path: String
        var query: String
        var contentHash: String
    }

    /// A signature and what it's computed from.
    struct Signature {
        var canonicalRequest: String
        var stringToSign: String
        var text: String
    }

    func signedFields(
        _ parts: SignedParts,
        host: String,
        _ headers: HTTPHeaders,
        with credentials: AWSCredentials,
        at date: Date
    ) throws -> (fields: HTTPHeaders, signature: Signature) {
        let (accessKeyID, sessionToken) = try (credentials.checkedAccessKeyID(), credentials.checkedSessionToken())
        let time = AWSTime(date)
        var headers = headers.without(["Authorization", "X-Amz-Date", "X-Amz-Security-Token"])
        if sendsContentHash { headers[Self.contentHash] = parts.contentHash }
        headers.append(name: "X-Amz-Date", value: time.text)
        if let sessionToken, signsSessionToken { headers.append(name: "X-Amz-Security-Token", value: sessionToken) }
        let fields = AWSCanonical.fields(headers, host: host) { !Self.unsignedFields.contains($0) }
        let signature = try signature(parts, AWSCanonical.query(parts.query), fields, credentials, time)
        if let sessionToken, !signsSessionToken { headers.append(name: "X-Amz-Security-Token", value: sessionToken) }
        let names = fields.map(\.name).joined(separator: ";")
        headers.append(
            name: "Authorization",
            value: "\(Self.algorithm) Credential=\(accessKeyID)/\(scope(time)), SignedHeaders=\(names), "
                + "Signature=\(signature.text)"
        )
        return (headers, signature)
    }

    func signedQuery(
        _ parts: SignedParts,
        host: String,
        _ headers: HTTPHeaders,
        with credentials: AWSCredentials,
        lifetime: Int,
        at date: Date
    ) throws -> (query: String, signature: Signature) {
        let (accessKeyID, sessionToken) = try (credentials.checkedAccessKeyID(), credentials.checkedSessionToken())
        let time = AWSTime(date)
        let fields = AWSCanonical.fields(headers, host: host) { !Self.unsignedFields.contains($0) }
        var query = parts.query
        let add = { (name: String, value: String) in
            query += "\(query.isEmpty ? "" : "&")\(name)=\(PercentEncoding.encode(value))"
        }
        add("X-Amz-Algorithm", Self.algorithm)
        add("X-Amz-Credential", "\(accessKeyID)/\(scope(time))")
        add("X-Amz-Date", time.text)
        add("X-Amz-SignedHeaders", fields.map(\.name).joined(separator: ";"))
        add("X-Amz-Expires", String(lifetime))
        if let sessionToken, signsSessionToken { add("X-Amz-Security-Token", sessionToken) }
        let signature = try signature(parts, AWSCanonical.query(query), fields, credentials, time)
        if let sessionToken, !signsSessionToken { add("X-Amz-Security-Token", sessionToken) }
        add("X-Amz-Signature", signature.text)
        return (query, signature)
    }

    private func signature(
        _ parts: SignedParts,
        _ query: String,
        _ fields: [(name: String, value: String)],
        _ credentials: AWSCredentials,
        _ time: AWSTime
    ) throws -> Signature {
        let path = keepsPath ? AWSCanonical.objectPath(parts.path) : AWSCanonical.path(parts.path)
        let lines = fields.map { "\($0.name):\($0.value)\n" }.joined()
        let names = fields.map(\.name).joined(separator: ";")
        let canonical = "\(parts.method)\n\(path)\n\(query)\n\(lines)\n\(names)\n\(parts.contentHash)"
        let stringToSign =
            "\(Self.algorithm)\n\(time.text)\n\(scope(time))\n\(try Self.hash(of: Array(canonical.utf8)))"
        let code = try credentials.checkedSecretKey { secret in
            var key = Array("AWS4\(secret)".utf8)
            for part in [time.day, region, service, "aws4_request"] { key = try Self.code(for: part, key) }
            return try Self.code(for: stringToSign, key)
        }
        return Signature(canonicalRequest: canonical, stringToSign: stringToSign, text: code.hexadecimal)
    }

    private func scope(_ time: AWSTime) -> String { "\(time.day)/\(region)/\(service)/aws4_request" }

    private static func code(for text: String, _ key: [UInt8]) throws -> [UInt8] {
        let key = key.withBytes { SecretBytes(copying: $0) }
        return try Array(text.utf8).withBytes { bytes throws(CryptoError) in
            try HMAC(.sha256, key: key).authenticationCode(for: bytes)
        }
    }

    static func hash(of octets: [UInt8]) throws -> String {
        try octets.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }.hexadecimal
    }

    // MARK: The body

    private func contentHash(of request: HTTPRequest, _ payload: Payload) async throws -> String {
        guard [service, region].allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(AWSCanonical.isNameCharacter) }) else {
            throw Self.unsignable("the names of the service and the region are letters, digits, “-”, “_” and “.”")
        }
        let isEmpty = request.body.contentLength == 0
        if keepsPath, request.body.contentLength == nil, request.headers["Content-Length"] == nil {
            throw Self.unsignable("S3 requires the length of a body; pass it with the stream")
        }
        if let given = request.headers[Self.contentHash] { return given }
        if payload == .unsigned, !isEmpty {
            guard keepsPath else {
                throw Self.unsignable("only S3 accepts an unsigned body; use a body that can be read twice")
            }
            guard HTTPOrigin(request.url)?.isConfidential ?? false else {
                throw Self.unsignable("nothing protects an unsigned body without https, so nothing was sent")
            }
            return Self.unsignedPayload
        }
        guard request.body.isReplayable else {
            throw Self.unsignable(
                "the body can be read only once, so that its hash isn't known before it's sent; use a body that can be "
                    + "read twice, set \(Self.contentHash), or for S3 leave the body unsigned"
            )
        }
        guard !isEmpty else { return try Self.hash(of: []) }
        let hasher = try HTTPDigest.Hasher([.sha256])
        try await request.body.read { part in try hasher.update(part) }
        return Array(try hasher.finish()[.sha256] ?? Data()).hexadecimal
    }

    static func unsignable(_ problem: String) -> WorkloadIdentityError {
        WorkloadIdentityError(.unsignableRequest, "the request can't be signed for AWS: \(problem)")
    }
}

/// The time of a signature: `20150830T123600Z`.
private struct AWSTime {
    let day: String
    let text: String

    init(_ date: Date) {
        // Years with four digits.
        let seconds = min(max(Int(clamping: date.timeIntervalSince1970), 0), 253_402_300_799)
        let (days, rest) = seconds.quotientAndRemainder(roundingDownBy: 86_400)
        let (year, month, date) = HTTPDate.civil(days)
        day = HTTPDate.padded(year, 4) + HTTPDate.padded(month, 2) + HTTPDate.padded(date, 2)
        text = "\(day)T" + [rest / 3_600, rest / 60 % 60, rest % 60].map { HTTPDate.padded($0, 2) }.joined() + "Z"
    }
}

/// The URL of a request as it's sent, and the parts of it that are signed.
private struct AWSRequestTarget {
    let path: String
    let query: String
    let host: String
    /// The host that must be sent instead of the URL's spelling.
    let replacedHost: String?
    private let reference: URIReference

    init(_ url: URL) throws(WorkloadIdentityError) {
        guard let origin = HTTPOrigin(url), url.user == nil else {
            throw AWSSignatureV4.unsignable("the URL has no host, or has user information; pass an absolute URL")
        }
        var reference = URIReference(url.absoluteString)
        reference.fragment = nil
        reference.query = reference.query.map { query in query.replacing("+", with: "%20") }
        path = reference.path.isEmpty ? "/" : reference.path
        query = reference.query ?? ""
        let isDefault = origin.port == (origin.scheme == "https" ? 443 : 80)
        host = isDefault ? origin.host : origin.description
        replacedHost = reference.authority == host ? nil : host
        self.reference = reference
    }

    var url: URL { URL(string: reference.text) ?? URL(filePath: "/") }

    func url(query: String) -> URL? {
        var signed = reference
        signed.query = query
        if signed.path.isEmpty { signed.path = "/" }
        return URL(string: signed.text)
    }
}

/// The canonical forms of a request's parts.
enum AWSCanonical {
    static func isNameCharacter(_ byte: UInt8) -> Bool {
        PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
    }

    /// The path of an object: each segment is decoded, and encoded once.
    static func objectPath(_ path: String) -> String {
        let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return segments.map { segment in
            let octets = PercentEncoding.decode(octets: segment) ?? Array(segment)
            return PercentEncoding.encode(octets: octets, keeping: PercentEncoding.isUnreserved)
        }.joined(separator: "/")
    }

    /// Any other path, without empty and dot segments, and encoded once more.
    static func path(_ path: String) -> String {
        var segments: [Substring.UTF8View] = []
        for segment in path[...].utf8.split(separator: UInt8(ascii: "/")) {
            if segment.elementsEqual("..".utf8) {
                _ = segments.popLast()
            } else if !segment.elementsEqual(".".utf8) {
                segments.append(segment)
            }
        }
        let text = segments.map { PercentEncoding.encode(octets: $0, keeping: PercentEncoding.isUnreserved) }
        let end = path.utf8.last == UInt8(ascii: "/") && !segments.isEmpty ? "/" : ""
        return "/" + text.joined(separator: "/") + end
    }

    /// The parameters in the order of their encoded names and values.
    static func query(_ query: String) -> String {
        let pairs = query.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            return (name: encoded(pair[..<end]), value: encoded(pair[end...].dropFirst()))
        }
        let sorted = pairs.sorted { left, right in
            if left.name.utf8.elementsEqual(right.name.utf8) {
                return left.value.utf8.lexicographicallyPrecedes(right.value.utf8)
            }
            return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
        }
        return sorted.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    private static func encoded(_ octets: Substring.UTF8View) -> String {
        PercentEncoding.encode(
            octets: PercentEncoding.decode(octets: octets) ?? Array(octets),
            keeping: PercentEncoding.isUnreserved
        )
    }

    /// The fields to sign in the order of their lowercase names.
    static func fields(
        _ headers: HTTPHeaders,
        host: String,
        _ isSigned: (String) -> Bool
    ) -> [(name: String, value: String)] {
        var values: [String: [String]] = headers["Host"] == nil ? ["host": [host]] : [:]
        for field in headers {
            let name = field.name.lowercased()
            if isSigned(name) { values[name, default: []].append(trimmed(field.value)) }
        }
        let sorted = values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return sorted.map { ($0.key, $0.value.joined(separator: ",")) }
    }

    /// Removes white space at the ends, and all but one space elsewhere.
    private static func trimmed(_ value: String) -> String {
        let words = value.utf8.split { $0 == 0x20 || (0x09...0x0D).contains($0) }
        return words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    }
}
