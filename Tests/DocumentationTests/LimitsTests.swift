import Foundation
import TestSupport
import Testing

/// Compares the table of limits with the sources.
@Suite("Docs/Limits.md", .computing)
struct LimitsTests {
    /// A number of the sources: the only one in a file that follows a text.
    struct Constant: Sendable, ExpressibleByStringLiteral {
        /// The file in Sources, if it isn't the one of the constant before, and the text.
        let place: [String]
        /// Makes the number on the page.
        var makeNumber: @Sendable (Int) -> Int = { $0 }

        init(stringLiteral text: String) { place = text.components(separatedBy: " | ") }

        init(_ text: String, _ makeNumber: @escaping @Sendable (Int) -> Int) {
            self.init(stringLiteral: text)
            self.makeNumber = makeNumber
        }

        /// Returns the number.
        func number(in source: String) throws -> Int {
            let values = source.components(separatedBy: place.last ?? "").dropFirst().compactMap(Self.value)
            try #require(values.count == 1, "“\(place.last ?? "")” has \(values.count) values")
            return makeNumber(values[0])
        }

        /// Returns the value of an expression at the start of a text, in bytes, seconds or neither.
        static func value(_ text: String) -> Int? {
            guard let match = text.prefixMatch(of: /(?:Duration)?(?:\.seconds\()?([0-9_]+)(?: << ([0-9]+))?/) else {
                return nil
            }
            guard let number = Int(match.1.replacing("_", with: "")) else { return nil }
            return number << (match.2.flatMap { Int($0) } ?? 0)
        }
    }

    @Test("Each number in the table is that of the sources")
    func numbers() throws {
        var (count, source) = (0, "")
        for row in try rows() {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let constants = Self.constants[cells[0]] ?? []
            let expected = try constants.map { constant in
                if constant.place.count > 1 { source = try #require(Repository.text("Sources/\(constant.place[0])")) }
                return try constant.number(in: source)
            }
            #expect(Self.numbers(in: cells[1]) == expected, "\(cells[0])")
            count += expected.count
        }
        #expect(count == Self.constants.values.reduce(0) { $0 + $1.count }, "constants of a row that doesn't exist")
        #expect(count > 120)
    }

    @Test("Reads numbers with their units")
    func reading() {
        let text = "2,048 bytes, 1 MiB, a minute, a 410, 2 more hours, five, a tenth of about 300 bytes"
        #expect(Self.numbers(in: text) == [2048, 1 << 20, 60, 7200, 5, 10])
        let values = ["64 << 10, x", ".seconds(3_600)", "Duration.seconds(5)", "x"].map(Constant.value)
        #expect(values == [65_536, 3600, 5, nil])
    }

    @Test("Each setting of a limit is a public name")
    func settings() throws {
        let declarations = PublicDeclarations(folders: ["Sources"])
        for row in try rows() {
            var type = ""
            for name in (row.split(separator: "|").last ?? "").matches(of: /`([\w.]+(?:\([\w:]*\))?)`/).map(\.1) {
                // A member without its type is one of the type before it.
                let isMember = name.first?.isLowercase == true && !type.isEmpty
                let full = isMember ? "\(type).\(name)" : String(name)
                if !isMember, let dot = name.prefix(while: { $0 != "(" }).lastIndex(of: ".") {
                    type = String(name[..<dot])
                }
                // “`timeout` of `EtcdCluster`”
                guard name.first?.isUppercase == true || isMember else { continue }
                let exists = declarations.contains(full)
                #expect(exists, "unknown setting \(full)")
            }
        }
    }

    /// Returns the rows of the table.
    private func rows() throws -> [Substring] {
        let page = try #require(Repository.text("Docs/Limits.md"))
        let section = try #require(page.components(separatedBy: "\n## Limits\n").last)
        let rows = section.components(separatedBy: "\n## ")[0].split(separator: "\n").filter { $0.hasPrefix("|") }
        #expect(rows.count > 40)
        return Array(rows.dropFirst(2))
    }

    /// Returns the numbers of a cell, in bytes, seconds or neither. Status codes and what is
    /// “about” right aren't limits.
    private static func numbers(in cell: String) -> [Int] {
        let units = ["KiB": 1 << 10, "MiB": 1 << 20, "minute": 60, "hour": 3600, "day": 86_400]
        let names = ["three": 3, "four": 4, "five": 5, "eight": 8, "quarter": 4, "eighth": 8, "tenth": 10]
        let words =
            cell.replacing(/about [0-9,]+/, with: "").replacing(" more ", with: " ")
            .matches(of: /[0-9][0-9,]*[0-9]|[0-9]|[A-Za-z]+/).map { String($0.0) } + [""]
        return zip(words, words.dropFirst()).compactMap { word, next in
            let unit = units[next] ?? units[String(next.dropLast(next.hasSuffix("s") ? 1 : 0))]
            let article = word.hasPrefix("a") && word.count <= 2 && unit != nil ? 1 : nil
            guard let number = Int(word.replacing(",", with: "")) ?? names[word] ?? article else { return nil }
            return [410, 429, 503].contains(number) ? nil : number * (unit ?? 1)
        }
    }

    /// The constants of each row, in the order of its numbers.
    private static let constants: [String: [Constant]] = [
        "an operation, including attempts, delays and tokens": [
            "Networking/Client/NetworkClient.swift | timeout: Duration? = "
        ],
        "opening a connection": ["Networking/Transport/Curl/CurlConfiguration.swift | connectTimeout: Duration = "],
        "a response body after decoding": ["Networking/Client/NetworkClient.swift | maximumBodySize: Int = "],
        "expansion by decoding": [
            "Networking/Transport/Curl/CurlConfiguration.swift | maximumExpansion: Int? = ",
            "Networking/Transport/Curl/CurlTransfer+Callbacks.swift | receivedCount + count > ",
        ],
        "the window of a body in brotli or zstd": [
            "CCurl/CCoding.c | BROTLI_LARGEST_ALLOCATION = (", Constant("ZSTD_HTTP_WINDOW_LOG = ") { 1 << $0 },
        ],
        "a structured field, its members, items of an inner list, parameters": [
            "Networking/StructuredFields/StructuredField.swift | var length = ", "var members = ",
            "var innerListItems = ", "var parameters = ",
        ],
        "a structured field's key, string, token, byte sequence": [
            "Networking/StructuredFields/StructuredField.swift | var keyLength = ", "var stringLength = ",
            "var tokenLength = ", "var byteSequenceLength = ",
        ],
        "a response header": ["Networking/Transport/Curl/CurlConfiguration.swift | maximumHeaderSize = "],
        "concurrent requests, per host and in total": [
            "Networking/Transport/Curl/CurlConfiguration.swift | maximumConnectionsPerHost: Int = ",
            "maximumConnections: Int = ",
        ],
        "threads of a transport": [
            "Networking/Transport/Curl/CurlConfiguration.swift | activeProcessorCount / ",
            "activeProcessorCount / 4, ", "activeProcessorCount / 4, 1), ",
        ],
        "requests per HTTP/2 connection": [
            "Networking/Transport/Curl/CurlConfiguration.swift | maximumStreamsPerConnection = "
        ],
        "silence of a vanished server": [
            "Networking/Transport/Curl/CurlConfiguration.swift | patience: Duration = ", "interval: Duration = ",
        ],
        "the addresses of a name": ["Networking/Transport/Curl/CurlConfiguration.swift | dnsCacheLifetime = "],
        "the buffer of a streamed body": ["Networking/Transport/Curl/CurlConfiguration.swift | streamBufferSize = "],
        "a name in JSON of a server that a `JSONDecoder` decodes, unless it's plain ASCII": [
            "Networking/Resource/ModelDecoding.swift | !isPlain, length > "
        ],
        "a line or event of an event stream, a streamed JSON value": [
            "Networking/Streams/EventStream.swift | maximumEventSize: Int = "
        ],
        "silence in an event stream or a stream of JSON values": [
            "Networking/Streams/EventStream.swift | idleTimeout = "
        ],
        "reconnections of an event stream": [
            "Networking/Streams/EventStream.swift | .maxDelay(",
            "Networking/Streams/ServerSentEvents.swift | maximumRetry = ",
        ],
        "redirects": ["Networking/Redirects/RedirectPolicy.swift | maximumCount = "],
        "retries": [
            "Networking/Retry/Retry+Backoff.swift | capacity: Int = ", "transientCost: Int = ",
            "throttlingCost: Int = ",
        ],
        "repetitions of a request by an authenticator, requests of all interceptors between two retries": [
            "Networking/Retry/Retry.swift | maximumAuthenticationRetries = ",
            "Networking/Client/ClientOperation.swift | maximumSends = ",
        ],
        "stored responses of a `CacheInterceptor`": [
            "Networking/Caching/HTTPResponseCache.swift | capacity: Int = ", "self.capacity / ",
        ],
        "concurrent renewals of stale responses": ["Networking/Client/AttemptLoop.swift | maximumCount = "],
        "concurrent transfers": ["Networking/Client/NetworkClient.swift | maximumTransfers: Int = "],
        "getting a token": ["OAuth2/Client/OAuth2Client.swift | timeout: Duration = ", "attempts: Int = "],
        "a platform's token, and the file, variable or response that contains it": [
            "WorkloadIdentity/PlatformToken.swift | maximumSize = ",
            Constant("WorkloadIdentity/PlatformToken.swift | maximumSize = ") { 2 * $0 },
        ],
        "a file of the AWS CLI, the roles in a profile's chain": [
            "WorkloadIdentity/AWSProfiles.swift | maximumFileSize = ", "longestChain = ",
        ],
        "the validity of a URL that is signed for AWS": [
            "WorkloadIdentity/AWSSignatureV4.swift | longestValidity = "
        ],
        "the difference of AWS's clock that a signer learns": [
            "WorkloadIdentity/AWSRequestSigner.swift | longestSkew = "
        ],
        "a session's token of EC2's metadata service": [
            "WorkloadIdentity/AWSMetadataCredentials.swift | answer.count <= "
        ],
        "a request for a platform's token": [
            "WorkloadIdentity/PlatformEndpoint.swift | var timeout = ", Constant("var limit = ") { $0 + 1 },
            "WorkloadIdentity/DefaultTokenSource.swift | connectTimeout: ",
            "WorkloadIdentity/AzureManagedIdentitySource.swift | retries.timeout = ",
            Constant("retries.limit = ") { $0 + 1 }, Constant("retries.whileGone = (.seconds(10), ") { $0 + 1 },
        ],
        "refreshes of one token": ["OAuth2/Tokens/TokenLifecycle.swift | stormLimit = ", "stormWindow = "],
        "a token, its header, its nesting": [
            "TokenGeneration/JWS/JWSVerifier.swift | init(size: Int = ", "headerSize = ", "allowedDepth = ",
        ],
        "an encrypted token, its header, its recipients": [
            "TokenGeneration/JWE/JWEHeader.swift | init(size: Int = ", "headerSize = ", "recipientCount = ",
        ],
        "an SD-JWT, its disclosures, one of them, its digests, its nesting": [
            "TokenGeneration/SDJWT/SDJWT.swift | init(size: Int = ", "disclosureCount = ", "disclosureSize = ",
            "digestCount = ", "allowedDepth = ",
        ],
        "the age of a key binding": ["TokenGeneration/SDJWT/KeyBinding.swift | maximumAge: Duration = "],
        "a client secret that keys are derived from": ["OAuth2/Keys/IssuerKeys.swift | minimumKeySource = "],
        "the age of an introspection response that is a JWT": [
            "OAuth2/Authorization/SignedResponseVerifier.swift | maximumAge: Duration = "
        ],
        "PBKDF2 iterations of a token's password": [
            "TokenGeneration/JWE/DecryptionPolicy.swift | maximumPasswordIterations: Int = "
        ],
        "cached keys of an issuer": [
            "OAuth2/Keys/RemoteKeySet.swift | lifetime: Duration = ", "lifetimeBounds: ClosedRange<Duration> = ",
            ".seconds(60) ... ", "staleIfError: Duration = ", "cooldown: Duration = ",
        ],
        "a status list as a token, and decompressed": [
            "ResourceServer/CachedStatusLists.swift | maximumTokenSize = ", "maximumListSize = ",
        ],
        "cached status lists": [
            "ResourceServer/CachedStatusLists.swift | capacity = ", "lifetimeBounds: ClosedRange<Duration> = ",
            ".seconds(60) ... ", "token.timeToLive ?? ",
        ],
        "requests for a status list that fails": [
            "ResourceServer/CachedStatusLists.swift | retryInterval: Duration = ", ".retryAfter ?? .zero, ",
        ],
        "a server's words in an error, a value of a resource's demand": [
            "OAuth2/Errors/ServerText.swift | serverTextLimit = ",
            "OAuth2/Authenticator/ResourceDemand.swift | value.utf8.count <= ",
        ],
        "`Retry-After` in an API's 503 response": ["ResourceServer/AccessRefusal.swift | longestRetryAfter = "],
        "the lifetime of a token that may be used once": ["TokenGeneration/JWT/SingleUse.swift | maximumLifetime = "],
        "a response of a shared store, a file with its credential": [
            "SharedStores/StoreService.swift | maximumResponseSize = ", "private static let maximumSize = ",
        ],
        "a record in Consul, in Vault, in Kubernetes, in etcd and at an HTTP server": [
            "SharedStores/ConsulTokenStore.swift | maximumSize: Int { ",
            "SharedStores/VaultTokenStore.swift | maximumSize: Int { ",
            "SharedStores/KubernetesTokenStore.swift | maximumSize: Int { ",
            "SharedStores/Etcd/EtcdCluster.swift | maximumValueSize = ",
            "SharedStores/HTTPTokenStore.swift | maximumSize = ",
        ],
        "a request to a shared store": [
            "SharedStores/ConsulTokenStore.swift | timeout: Duration = ", "longestQuery = ",
        ],
        "a replay cache": ["TokenGeneration/DPoP/ReplayCache.swift | capacity: Int = ", "self.capacity / "],
        "a DPoP proof in a replay cache": [
            Constant("TokenGeneration/DPoP/DPoPVerifier.swift | maximumAge: Duration = ") { 3 * $0 },
            "TokenGeneration/JWT/SingleUse.swift | replayMargin: TimeInterval = ",
        ],
        "the name of a partition in DPoP nonces": ["ResourceServer/DPoPNonces.swift | maximumNameSize = "],
        "the keys of a ring, its record": [
            "SharedStores/SigningKeys/KeyRingRules.swift | maximumCount = ",
            "SharedStores/SigningKeys/KeyRingStore.swift | maximumSize = ",
        ],
        "waiting for newer keys of a ring": [
            "SharedStores/SigningKeys/KeyRingRules.swift | patience = ",
            "SharedStores/SigningKeys/SigningKeyRing.swift | timeout = ",
        ],
        "a sign-in in progress, those of a browser, their cookies": [
            "WebSignIn/SealedValue.swift | lifetime = ", "maximumCount = ", "maximumSize = ",
        ],
        "a session without a request, and in any case": [
            "WebSignIn/SignIn.swift | idleLifetime = ", "absoluteLifetime = ",
        ],
        "the record of a session, the `Cookie` field that is read": [
            "WebSignIn/SessionBook.swift | value.utf8.count <= ", "WebSignIn/SignInMessages.swift | cookieLimit = ",
        ],
        "sessions of a user": ["WebSignIn/SessionList.swift | maximumCount = "],
        "the path and query of a forwarded request": ["WebSignIn/SignIn+Forwarding.swift | longestTarget = "],
        "sessions and other values in memory": ["WebSignIn/SessionStore.swift | capacity: Int = "],
        "the age of a logout token, the wait for the revocation at a sign-out": [
            "WebSignIn/SessionBook.swift | tokenAge = ", "WebSignIn/SignIn+SignOut.swift | revocationTimeout = ",
        ],
        "the path to return to after a sign-in": ["WebSignIn/ReturnPath.swift | maximumSize = "],
        "the lifetime of a ring's tokens": [
            "SharedStores/SigningKeys/SigningKeyRing.swift | tokenLifetime: Duration = "
        ],
        "a SPIFFE ID, its trust domain": [
            "TokenGeneration/JWT/Profiles/TokenIssuer+Workloads.swift | maximumSize = ", "maximumTrustDomainSize = ",
        ],
        "clock difference when validating tokens": [
            "TokenGeneration/JWT/ValidationPolicy.swift | leeway: Duration = "
        ],
        "the `Signature` or `Signature-Input` fields of a message, its signatures, the components of one": [
            "HTTPSignatures/SignatureBase.swift | fieldSize = ", "signatures = ", "components = ",
        ],
        "`keyid`, `nonce`, `alg` and `tag` of a signature, its base": [
            "HTTPSignatures/SignatureBase.swift | parameterLength = ", "baseSize = ",
        ],
        "the age of a signature, and the clock difference": [
            "HTTPSignatures/SignatureProfile.swift | maximumAge: Duration = ", "clockSkew: Duration = ",
        ],
        "a nonce that a server hands out for signatures": [
            "HTTPSignatures/ResponseVerifier.swift | lifetime: Duration = "
        ],
        "a recorded message for `jwt http verify`, its head": [
            "jwt/Commands/HTTP/MessageSource.swift | sizeLimit = ",
            "jwt/Commands/HTTP/RawMessage.swift | headLimit = ",
            "Networking/HTTP/RequestHead.swift | fieldCount: Int = ",
        ],
        "agents whose keys are kept, fetches at once, the keys and the size of a directory, its request": [
            "HTTPSignatures/SignatureAgentKeys.swift | agents = ", "concurrentFetches = ", "public var keys = ",
            "public var size = ", "timeout: Duration = ",
        ],
    ]
}
