import Foundation
import TokenGeneration

/// The options that say which claims a token has.
struct ClaimOptions {
    static let section = "Claims"

    private static let claim = Option<Assignment>(
        "claim",
        short: "c",
        value: "NAME=VALUE",
        isRepeatable: true,
        section: section,
        "A claim; VALUE is JSON if it can be read as JSON (5, true, [\"a\"], \"5\"), and otherwise text"
    )
    static let claims = Option<InputFile>(
        "claims",
        value: "FILE",
        section: section,
        "Claims in a JSON object; with --batch, one JSON object in each line (default then: standard input)"
    )
    private static let issuer = Option<NonEmptyText>("iss", value: "TEXT", section: section, "The issuer")
    private static let subject = Option<NonEmptyText>("sub", value: "TEXT", section: section, "The subject")
    private static let audience = Option<NonEmptyText>(
        "aud",
        value: "TEXT",
        isRepeatable: true,
        section: section,
        "The audience; several make an array"
    )
    private static let expiresIn = Option<TimeSpan>(
        "expires-in",
        value: "DURATION",
        section: section,
        "The token expires this long from now: 90, 90s, 5m, 2h, 7d, 1w, 1h30m; sets exp, and iat unless it is given"
    )
    private static let noIssuedAt = Flag("no-iat", section: section, "Do not let --expires-in set iat")
    private static let notBefore = Option<Moment>(
        "not-before",
        value: "TIME",
        section: section,
        "The token is not good before this time: now, +5m, -1m, 2026-01-31T12:00:00Z, or seconds since 1970"
    )
    private static let issuedAt = Option<Moment>(
        "issued-at",
        value: "TIME",
        section: section,
        "When the token was issued, as for --not-before"
    )
    private static let tokenID = Option<NonEmptyText>(
        "jti",
        value: "ID",
        section: section,
        "The token's ID; auto makes a random one for each token"
    )

    static let options = [
        claim.definition, claims.definition, issuer.definition, subject.definition, audience.definition,
        expiresIn.definition, noIssuedAt.definition, notBefore.definition, issuedAt.definition, tokenID.definition,
    ]

    /// The claims that are the same in every token.
    private let fixed: MemberCollection
    private let expiresIn: TimeSpan?
    private let setsIssuedAt: Bool
    private let moments: [(name: String, moment: Moment, origin: String)]
    private let makesTokenID: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        expiresIn = try arguments.value(of: Self.expiresIn)
        setsIssuedAt = !arguments.contains(Self.noIssuedAt)
        guard setsIssuedAt || expiresIn != nil else {
            throw arguments.usageError("--no-iat changes what --expires-in does, which is not given")
        }
        var moments: [(name: String, moment: Moment, origin: String)] = []
        for (name, option) in [("nbf", Self.notBefore), ("iat", Self.issuedAt)] {
            guard let moment = try arguments.value(of: option) else { continue }
            moments.append((name, moment, option.definition.spelling))
        }
        self.moments = moments
        let tokenID = try arguments.value(of: Self.tokenID)?.text
        makesTokenID = tokenID == "auto"
        let assignments = try arguments.values(of: Self.claim)
        let (issuer, subject) = (try arguments.value(of: Self.issuer), try arguments.value(of: Self.subject))
        let audience = try arguments.values(of: Self.audience).map { JSONValue.string($0.text) }
        var fixed = MemberCollection(kind: "claim")
        do throws(ValueError) {
            for assignment in assignments {
                try fixed.add(assignment.name, assignment.value, from: Self.claim.definition.spelling)
            }
            for (name, value) in [("iss", issuer?.text), ("sub", subject?.text), ("jti", makesTokenID ? nil : tokenID)]
            {
                if let value { try fixed.add(name, .string(value), from: "--" + name) }
            }
            if let first = audience.first {
                try fixed.add("aud", audience.count == 1 ? first : .array(audience), from: "--aud")
            }
        } catch {
            throw arguments.usageError(error.message)
        }
        self.fixed = fixed
        // What contradicts itself already is said before a file is read or a key made.
        do {
            _ = try claims(adding: nil, from: "", now: 0)
        } catch let error as ValueError {
            throw arguments.usageError(error.message)
        } catch let error as TokenError where error.code == .malformedClaim {
            throw arguments.usageError(error.message + Self.advice(on: fixed.object))
        } catch {
            // That the system has no random numbers is for the token to fail with.
        }
    }

    /// Whether no claim comes from an option.
    var isEmpty: Bool { fixed.object.isEmpty && expiresIn == nil && moments.isEmpty && !makesTokenID }

    /// The claims of one token.
    ///
    /// - Parameters:
    ///   - others: The claims of a file or a line.
    ///   - origin: How messages call their place.
    ///   - now: The time in seconds since 1970.
    /// - Returns: The claims.
    /// - Throws: ``ValueError`` if a claim is given twice; ``TokenError`` if the system has no random numbers.
    func claims(adding others: JSONObject?, from origin: String, now: Int) throws -> JSONObject {
        var claims = fixed
        for member in others ?? [:] { try claims.add(member.name, member.value, from: origin) }
        for (name, moment, origin) in moments {
            try claims.add(name, .number(JSONNumber(moment.seconds(now: now))), from: origin)
        }
        if let expiresIn {
            let origin = Self.expiresIn.definition.spelling
            try claims.add("exp", .number(JSONNumber(now + expiresIn.seconds)), from: origin)
            if setsIssuedAt, !claims.contains("iat") {
                try claims.add("iat", .number(JSONNumber(now)), from: origin)
            }
        }
        if makesTokenID {
            try claims.add("jti", .string(try RegisteredClaims.randomJWTID()), from: Self.tokenID.definition.spelling)
        }
        try Self.check(claims.object)
        return claims.object
    }

    /// Checks the registered claims (RFC 7519 §4.1) as a verifier does.
    ///
    /// A token with another type of claim is refused everywhere, or its claim is overlooked.
    ///
    /// - Throws: `TokenError` with the code `malformedClaim`.
    static func check(_ claims: JSONObject) throws(TokenError) {
        _ = try claims.registeredClaims()
    }

    /// The option that sets a malformed claim of the command line.
    private static func advice(on claims: JSONObject) -> String {
        let options: [(claim: String, definition: OptionDefinition)] = [
            ("iss", issuer.definition), ("sub", subject.definition), ("aud", audience.definition),
            ("exp", expiresIn.definition), ("nbf", notBefore.definition), ("iat", issuedAt.definition),
            ("jti", tokenID.definition),
        ]
        let malformed = options.first { name, _ in
            claims[name].map { (try? check([name: $0])) == nil } ?? false
        }
        return malformed.map { "; \($0.definition.synopsis) sets it" } ?? ""
    }

    /// The time, in whole seconds since 1970; the clock of a running system is so near the present that they fit.
    static var now: Int { Int(Date().timeIntervalSince1970) }

    /// Reads claims.
    ///
    /// - Throws: ``CommandFailure`` that names the file if they are no JSON object.
    static func object(in file: InputFile) throws(CommandFailure) -> JSONObject {
        guard let text = String(validating: try file.read().bytes, as: UTF8.self) else {
            throw CommandFailure(.failed, "\(file.name): claims must be a JSON object in UTF-8")
        }
        do throws(TokenError) {
            return try JSONObject(parsing: text)
        } catch {
            throw CommandFailure(.failed, "\(file.name): claims must be a JSON object: \(error.message)", cause: error)
        }
    }
}
