import Foundation
import Networking
import OpenSSLCrypto
import TokenGeneration

extension TokenRecord {
    /// The placeholder for an access token that hasn't been issued yet.
    static let noToken = Secret("")

    /// Creates the record of a token and the values issued along with it.
    init(_ token: AccessToken, refreshToken: Secret? = nil, boundKey: BoundKey? = nil, at timeSource: TimeSource) {
        let left = token.expiry.map { $0 - timeSource.now() }
        self.init(
            accessToken: token.value,
            tokenType: token.type,
            scope: token.scope,
            expiration: left.map { timeSource.date().addingTimeInterval($0 / .seconds(1)) },
            refreshToken: refreshToken,
            obtained: timeSource.date()
        )
        bind(to: boundKey)
    }

    /// Creates a record with a refresh token and no access token yet.
    init(awaiting refreshToken: Secret?) {
        self.init(
            accessToken: Self.noToken,
            expiration: Date(timeIntervalSince1970: 0),
            refreshToken: refreshToken
        )
    }

    /// Creates the record that replaces the tokens when the grant has ended.
    init(_ end: GrantEnd, replacing earlier: TokenRecord? = nil) {
        self.init(awaiting: nil)
        self.end = end
        epoch = earlier?.epoch
        generation = earlier?.generation ?? 0
    }

    mutating func bind(to key: BoundKey?) {
        proofKey = key?.pem
        proofKeyThumbprint = key?.generator.thumbprint
    }
}

extension AccessToken {
    /// Creates a token from a record; `nil` if it expires within a second or its key isn't
    /// available.
    init?(_ record: TokenRecord, boundKey: BoundKey? = nil, acceptsBearer: Bool = true, at timeSource: TimeSource) {
        let now = timeSource.now()
        let left = record.timeLeft(at: timeSource.date())
        if let left, !(left > 1) { return nil }
        guard record.accessToken != TokenRecord.noToken else { return nil }
        let isBound = record.tokenType.equalsIgnoringASCIICase("DPoP")
        let isUsable =
            isBound
            ? boundKey.map { record.proofKeyThumbprint == $0.generator.thumbprint } ?? false
            : record.tokenType.equalsIgnoringASCIICase(Self.bearer) && acceptsBearer
                || record.tokenType.equalsIgnoringASCIICase(Self.notApplicable)
        guard isUsable else { return nil }
        self.init(
            value: record.accessToken,
            type: record.tokenType,
            scope: record.scope,
            expiry: left.map { now + Duration(clampingSeconds: $0) },
            requested: now,
            proofGenerator: isBound ? boundKey?.generator : nil,
            isFound: true
        )
    }
}
