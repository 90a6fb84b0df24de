import Foundation
import Networking
import TokenGeneration

extension TokenRecord {
    /// Stands for the access token that is still to come.
    static let noToken = Secret("")

    /// The record of a token and what came with it.
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

    /// A refresh token, and no access token yet.
    init(awaiting refreshToken: Secret?) {
        self.init(
            accessToken: Self.noToken,
            expiration: Date(timeIntervalSince1970: 0),
            refreshToken: refreshToken
        )
    }

    /// Stands where tokens were until the user signed out.
    static var signedOut: Self {
        var mark = Self(awaiting: nil)
        mark.isSignedOut = true
        return mark
    }

    /// Whether the record says only that the chain of refresh tokens has ended.
    var isEnd: Bool { accessToken == Self.noToken && refreshToken == nil }

    mutating func bind(to key: BoundKey?) {
        proofKey = key?.pem
        proofKeyThumbprint = key?.generator.thumbprint
    }
}

extension AccessToken {
    /// A stored token; `nil` if there is no time to use it, or its key isn't at hand.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - boundKey: The key that tokens are to be bound to; `nil` for bearer tokens.
    ///   - acceptsBearer: Whether a token that isn't bound is good enough.
    ///   - timeSource: The source of time.
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
            expiry: left.map { now + .seconds(min($0, Double(Int32.max))) },
            requested: now,
            proofGenerator: isBound ? boundKey?.generator : nil,
            isFound: true
        )
    }
}
