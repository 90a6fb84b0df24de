public import Foundation
public import Networking
public import OAuth2
internal import OpenSSLCrypto
import Synchronization
import TokenGeneration

/// A token store on an HTTP server with conditional requests, which any number of hosts share.
///
/// ```swift
/// let store = try HTTPTokenStore(
///     URL(string: "https://storage.example/tokens")!,
///     keys: try RecordKeys(sealing: Secret(key)),
///     authenticator: authenticator
/// )
/// ```
///
/// Each record is a resource below the URL, named by a digest. The server needs `GET`, `PUT` and
/// `DELETE`, strong entity tags, and the preconditions `If-Match` and `If-None-Match`
/// ([RFC 9110, section 13.1](https://www.rfc-editor.org/rfc/rfc9110#section-13.1)). WebDAV
/// servers, and services and object stores that follow this, are suitable. Once per process, the
/// store checks with a resource `precondition-check` that the server evaluates preconditions.
///
/// HTTP doesn't tell of changes, so hosts that wait for one poll.
///
/// The store can't sign requests for Amazon S3; pass an authenticator that does. Google Cloud
/// Storage has other preconditions, and accepts only one write per second to an object.
public typealias HTTPTokenStore = SealedTokenStore<URL>

extension SealedTokenStore where Place == URL {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - url: The URL of the folder. Plain HTTP is accepted only for this machine.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    ///   - fields: Header fields for all requests, such as `x-ms-version`. The default is an empty
    ///     dictionary.
    ///   - authenticator: The authenticator of the requests. The default is `nil`. It may send a
    ///     request again only if the server has rejected its credential.
    ///   - transport: The transport, for other certificates and roots. The default is a
    ///     `CurlTransport`.
    ///   - timeout: The timeout of one request. The default is 3 seconds.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `insecureTransport` if the URL isn't confidential, or
    ///   `storeFailed` if it isn't an HTTP URL or contains a user, query or fragment.
    public init(
        _ url: URL,
        keys: RecordKeys,
        fields: [String: String] = [:],
        authenticator: (any URLRequestAuthenticator)? = nil,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(3),
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        let service = try StoreService(
            url,
            access: StoreService.Access(
                fields: fields,
                authenticator: authenticator,
                remedy: "check the authenticator and the permissions at the server"
            ),
            transport: transport,
            timeout: timeout,
            timeSource: timeSource
        )
        self.init(HTTPStorage(service), keys: keys, timeSource: timeSource)
    }
}

final class HTTPStorage: ConditionalStorage {
    let maximumSize = 1 << 20
    private let service: StoreService
    private let isChecked = Mutex(false)

    init(_ service: StoreService) { self.service = service }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        // An encoded answer would have another entity tag.
        let answer = try await service.answer(
            "GET",
            name,
            fields: ["Cache-Control": "no-cache", "Accept-Encoding": "identity"]
        )
        switch answer.status {
        case 404, 410: return nil
        case 200: break
        default: throw Self.rejected(answer)
        }
        guard answer.headers["Age"].map({ $0.isExactly("0") }) ?? true else {
            throw answer.rejected("a cache answered instead of the store; it would return tokens that were replaced")
        }
        guard let version = Self.version(answer) else {
            throw answer.rejected("the store's response has no strong entity tag, so records can't be replaced safely")
        }
        return (answer.body, version)
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        try await checkPreconditions()
        return try await put(value, to: name, over: version)
    }

    private func put(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        guard let condition = Self.condition(version) else { return nil }
        let answer = try await service.answer(
            "PUT",
            name,
            fields: [condition.name: condition.value, "Content-Type": "application/octet-stream"],
            body: value
        )
        switch answer.status {
        case 200, 201, 204: break
        // S3 answers 404 if the object is gone, and 409 to one of two writes at once; Azure answers
        // 409 if the blob exists.
        case 404 where version != nil: return nil
        case 409, 412: return nil
        default: throw Self.rejected(answer)
        }
        if let version = Self.version(answer) { return version }
        // A server that changes what it stores, such as its encoding, sends no entity tag.
        guard let found = try await read(name), found.value == value else {
            throw answer.unexpected("the store accepted a record but doesn't have it")
        }
        return found.version
    }

    func delete(_ name: String, version: String) async throws -> Bool {
        try await checkPreconditions()
        guard let condition = Self.condition(version) else { return false }
        let answer = try await service.answer("DELETE", name, fields: [condition.name: condition.value])
        switch answer.status {
        case 200, 204: return true
        case 404, 409, 410, 412: return false
        default: throw Self.rejected(answer)
        }
    }

    // MARK: Preconditions

    /// A server that ignores preconditions would let two hosts announce the same refresh.
    private func checkPreconditions() async throws {
        guard !isChecked.withLock(\.self) else { return }
        let name = "precondition-check"
        let text = Array("Written to find out whether the server evaluates preconditions.".utf8)
        _ = try await put(text, to: name, over: nil)
        let random = try StoreRandom.bytes(count: 16).hexadecimal
        let repeated = try await put(text, to: name, over: nil)
        let mismatched = try await put(text, to: name, over: "\"\(random)\"")
        guard repeated == nil, mismatched == nil else {
            throw OAuth2Error(
                .storeFailed,
                "the server ignores If-Match or If-None-Match, so hosts would overwrite each other's records"
            )
        }
        isChecked.withLock { $0 = true }
    }

    private static func condition(_ version: String?) -> (name: String, value: String)? {
        guard let version else { return ("If-None-Match", "*") }
        return isStrong(version) ? ("If-Match", version) : nil
    }

    private static func version(_ answer: StoreService.Answer) -> String? {
        answer.headers["ETag"].flatMap { isStrong($0) ? $0 : nil }
    }

    /// [RFC 9110, section 8.8.3](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3).
    private static func isStrong(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard (3...1_024).contains(bytes.count), bytes.first == 0x22, bytes.last == 0x22 else { return false }
        return bytes[1..<(bytes.count - 1)].allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) }
    }

    private static func rejected(_ answer: StoreService.Answer) -> OAuth2Error {
        answer.rejected(
            "the store rejected the request; check its URL and that it supports conditional requests"
        )
    }
}
