import Foundation
import Glibc
import TokenGeneration

struct ClaimOptions {
    private static let claim = Option<Assignment>("claim", short: "c", isRepeatable: true)
    static let claims = Option<InputFile>("claims")
    private static let issuer = Option<String>("iss", aliases: ["issuer"])
    private static let subject = Option<String>("sub", aliases: ["subject"])
    private static let audience = Option<String>("aud", aliases: ["audience"], isRepeatable: true)
    /// The lifetime in seconds, which is negative for a token that has already expired.
    private static let expiresIn = Option<Int>("expires-in", value: TimeSpan.placeholder) { text throws(ValueError) in
        let isPast = text.hasPrefix("-")
        let span = try TimeSpan(argument: isPast ? String(text.dropFirst()) : text)
        return isPast ? -span.seconds : span.seconds
    }
    private static let noIssuedAt = Flag("no-iat")
    private static let notBefore = Option<Moment>("not-before", aliases: ["nbf"])
    private static let issuedAt = Option<Moment>("issued-at", aliases: ["iat"])
    private static let tokenID = Option<String>("jti", value: "ID")

    static let options = OptionDefinition.table([
        claim: "A claim; VALUE is JSON if it parses as JSON (5, true, [\"a\"], \"5\"), and text otherwise",
        claims: "A JSON object with claims; with --batch, one JSON object per line (default then: standard input)",
        issuer: "The issuer",
        subject: "The subject",
        audience: "The audience; repeat it for an array",
        expiresIn: """
        The token's lifetime: 90, 90s, 5m, 2h, 7d, 1w, 1h30m, or -5m for a token that has expired; sets exp, and iat \
        unless you set it
        """,
        noIssuedAt: "Don't set iat with --expires-in",
        notBefore: "The time from which the token is valid: now, +5m, -1m, 2026-01-31T12:00:00Z, or seconds since 1970",
        issuedAt: "The time of issue, in the format of --not-before",
        tokenID: "The token's ID; auto generates a random ID for each token",
    ]).section("Claims")

    static let optionsForOneToken = options.describing(["claims": "A JSON object with claims"])

    /// The claims that are the same in every token.
    private let fixed: MemberCollection
    private let expiresIn: Int?
    private let setsIssuedAt: Bool
    private let moments: [(name: String, moment: Moment, origin: String)]
    private let makesTokenID: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        expiresIn = arguments.value(of: Self.expiresIn)
        setsIssuedAt = !arguments.contains(Self.noIssuedAt)
        guard setsIssuedAt || expiresIn != nil else {
            throw arguments.usageError("--no-iat requires --expires-in")
        }
        var moments: [(name: String, moment: Moment, origin: String)] = []
        for (name, option) in [("nbf", Self.notBefore), ("iat", Self.issuedAt)] {
            guard let moment = arguments.value(of: option) else { continue }
            moments.append((name, moment, option.spelling))
        }
        self.moments = moments
        let tokenID = arguments.value(of: Self.tokenID)
        makesTokenID = tokenID == "auto"
        let assignments = arguments.values(of: Self.claim)
        let (issuer, subject) = (arguments.value(of: Self.issuer), arguments.value(of: Self.subject))
        let audience = arguments.values(of: Self.audience).map(JSONValue.string)
        var fixed = MemberCollection(kind: "claim")
        do throws(ValueError) {
            for assignment in assignments {
                try fixed.add(assignment.name, assignment.value, from: Self.claim.spelling)
            }
            for (name, value) in [("iss", issuer), ("sub", subject), ("jti", makesTokenID ? nil : tokenID)] {
                if let value { try fixed.add(name, .string(value), from: "--" + name) }
            }
            if let first = audience.first {
                try fixed.add("aud", audience.count == 1 ? first : .array(audience), from: "--aud")
            }
        } catch {
            throw arguments.usageError(error.message)
        }
        self.fixed = fixed
        // Report contradictions before reading a file or generating a key.
        do {
            _ = try claims(adding: nil, from: "", now: 0)
        } catch let error as ValueError {
            throw arguments.usageError(error.message)
        } catch let error as TokenError where error.code == .malformedClaim {
            throw arguments.usageError(error.message + Self.advice(on: fixed.object))
        } catch {
            // Generating random numbers failed. Signing reports this error.
        }
    }

    var isEmpty: Bool { fixed.object.isEmpty && expiresIn == nil && moments.isEmpty && !makesTokenID }

    /// - Throws: ``ValueError`` if a claim is set twice, and ``TokenError`` if a registered claim
    ///   is malformed or the system can't generate random numbers.
    func claims(adding others: JSONObject?, from origin: String, now: Int) throws -> JSONObject {
        var claims = fixed
        for member in others ?? [:] { try claims.add(member.name, member.value, from: origin) }
        for (name, moment, origin) in moments {
            try claims.add(name, .number(JSONNumber(moment.seconds(now: now))), from: origin)
        }
        if let expiresIn {
            let origin = Self.expiresIn.spelling
            try claims.add("exp", .number(JSONNumber(now + expiresIn)), from: origin)
            if setsIssuedAt, !claims.contains("iat") {
                try claims.add("iat", .number(JSONNumber(now)), from: origin)
            }
        }
        if makesTokenID {
            try claims.add("jti", .string(try RegisteredClaims.randomJWTID()), from: Self.tokenID.spelling)
        }
        try Self.check(claims.object)
        return claims.object
    }

    func claims(adding file: InputFile?, _ arguments: ParsedArguments) throws -> JSONObject {
        if let file, file.path.first == "{", unsafe access(file.path, F_OK) != 0 {
            throw arguments.usageError("--claims must name a file; pass JSON on standard input with --claims -")
        }
        let others = try file.map { file throws(CommandFailure) in try Self.object(in: file) }
        do {
            return try claims(adding: others, from: "the --claims file", now: Self.now)
        } catch let error as ValueError {
            throw arguments.usageError(error.message)
        } catch let error as TokenError {
            let place = error.code == .malformedClaim ? file.map { "\($0.name): " } ?? "" : ""
            throw CommandFailure(.failed, place + error.message, cause: error)
        }
    }

    /// Rejects claims on standard input that no option reads, because the token would lack them,
    /// and a key there, because a generated key would sign the token instead.
    ///
    /// A program that writes to a pipe may be slow, so the pipe must have ended. Standard input can
    /// also be the file of a shell's loop. It stays unread, and is accepted if the token has a key
    /// and claims besides times.
    func checkStandardInput(_ arguments: ParsedArguments, hasKey: Bool = true) throws(UsageError) {
        let input = FileDescriptor.standard(STDIN_FILENO)
        let hasOnlyTimes = fixed.object.isEmpty && !makesTokenID
        guard hasOnlyTimes || !hasKey, !input.isTerminal else { return }
        let claimsAdvice = "--claims - reads claims from it"
        guard let waiting = input.waitingBytes(limit: 4_096, milliseconds: Self.inputTimeout) else {
            throw arguments.usageError(
                "standard input is open, but no option reads it; \(claimsAdvice), and < /dev/null ends it"
            )
        }
        let isObject = waiting.first { !$0.isBlank } == UInt8(ascii: "{")
        guard !waiting.isEmpty, isEmpty || !hasKey || isObject else { return }
        let advice = claimsAdvice + (hasKey || isObject ? "" : ", and --key - a key")
        throw arguments.usageError("standard input isn't empty, but no option reads it; \(advice)")
    }

    /// Ten seconds, so that a busy machine can end the other program of a pipe.
    private static let inputTimeout: Int32 = 10_000

    /// Validates the registered claims (RFC 7519 §4.1), because verifiers reject or ignore
    /// malformed ones.
    static func check(_ claims: JSONObject) throws(TokenError) { _ = try claims.registeredClaims() }

    private static func advice(on claims: JSONObject) -> String {
        let options: KeyValuePairs = [
            "iss": issuer.synopsis, "sub": subject.synopsis, "aud": audience.synopsis, "exp": expiresIn.synopsis,
            "nbf": notBefore.synopsis, "iat": issuedAt.synopsis, "jti": tokenID.synopsis,
        ]
        let malformed = options.first { name, _ in
            claims[name].map { (try? check([name: $0])) == nil } ?? false
        }
        return malformed.map { "; \($0.value) sets it" } ?? ""
    }

    static var now: Int { Int(Date().timeIntervalSince1970) }  // reason: a clock

    static func object(in file: InputFile) throws(CommandFailure) -> JSONObject {
        guard let text = String(validating: try file.read().bytes.withoutByteOrderMark, as: UTF8.self) else {
            throw CommandFailure(.failed, "\(file.name): claims must be a JSON object in UTF-8")
        }
        return try CommandFailure.reporting(at: "\(file.name): claims must be a JSON object") {
            try JSONObject(parsing: text)
        }
    }
}

struct MemberCollection {
    let kind: String
    private(set) var object = JSONObject()
    /// The origins by name in bytes, because Swift strings with different code points can be equal.
    private var origins: [[UInt8]: String] = [:]

    init(kind: String) { self.kind = kind }

    mutating func add(_ name: String, _ value: JSONValue, from origin: String) throws(ValueError) {
        if let other = origins.updateValue(origin, forKey: Array(name.utf8)) {
            let places = other == origin ? "twice by \(origin)" : "by both \(other) and \(origin)"
            throw ValueError(message: "the \(kind) \(name) is set \(places); remove one")
        }
        object[name] = value
    }

    func contains(_ name: String) -> Bool { origins[Array(name.utf8)] != nil }
}

/// A claim or header parameter, whose value is JSON if it parses as JSON, and text otherwise.
struct Assignment: ArgumentValue {
    static let placeholder = "NAME=VALUE"

    let name: String
    let value: JSONValue

    init(argument: String) throws(ValueError) {
        // By bytes: a combining character after the sign belongs to the value.
        guard let equals = argument.utf8.firstIndex(of: UInt8(ascii: "=")), equals != argument.startIndex else {
            throw ValueError(message: "must be NAME=VALUE")
        }
        name = String(argument[..<equals])
        let text = String(argument[argument.utf8.index(after: equals)...])
        if let json = JSONValue(text: text) {
            value = json
        } else if Self.isMeantAsJSON(text) {
            throw ValueError(
                message: """
                    \(name) looks like JSON but isn't valid; to set text, pass it as a JSON string: '\(name)="…"'
                    """
            )
        } else {
            value = .string(text)
        }
    }

    /// Returns whether text looks like an object or array, which must not silently become a text
    /// claim if it's invalid.
    private static func isMeantAsJSON(_ text: String) -> Bool {
        text.hasPrefix("{") && text.hasSuffix("}") || text.hasPrefix("[") && text.hasSuffix("]")
    }
}

extension JSONValue {
    /// Parses a text that is JSON as a whole, in an object, because the parser accepts only those.
    init?(text: String) {
        guard let object = try? JSONObject(parsing: "{\"\":\(text)}"), object.count == 1, let value = object[""]
        else { return nil }
        self = value
    }
}
