import Foundation
import HTTPSignatures
import Networking
import OAuth2
import TokenGeneration

struct SignatureOptions: Sendable {
    private static let key = Option<InputFile>("http-signature")
    private static let algorithm = Option<JWSAlgorithm>("signature-alg")
    private static let secret = Option<SecretEncoding>("signature-secret")
    private static let password = SecretOptions("signature-password", "the password of --http-signature")
    private static let profile = Option<SignatureProfileName>("signature-profile", value: "NAME")
    private static let keyID = Option<String>("signature-keyid", value: "ID")
    private static let tag = Option<String>("signature-tag")
    private static let cover = Option<ComponentArgument>("signature-cover", isRepeatable: true)
    private static let lifetime = Option<TimeSpan>("signature-expires-in")
    private static let agent = Option<ServiceURL>("signature-agent")
    private static let responseKey = Option<InputFile>("response-signature")
    private static let responseAlgorithm = Option<JWSAlgorithm>("response-signature-alg")

    static let members = OptionDefinition.table([
        key: """
        Sign the request and each retry and redirect (RFC 9421) with this private key: PEM, DER or JWK; without options \
        for a token, the request has none
        """,
        algorithm: "The algorithm, for a key that doesn't state it: PS512 is rsa-pss-sha512, RS256 is rsa-v1_5-sha256",
        secret: "Read the key as a raw secret in this encoding; requires --signature-alg HS256",
        password: nil,
        profile: """
        The agreement with the verifier: \(SignatureProfileName.names) (default: standard, which covers the method, \
        URL, body and credentials)
        """,
        keyID: "The ID of the key at the verifier; auto is the RFC 7638 thumbprint (default: the JWK's kid, or auto)",
        tag: "The tag (default: the profile's, if any)",
        cover: "Another component to cover, such as idempotency-key",
        lifetime: "The time until the signature expires (default: the profile's, usually none)",
        agent: "The URL of your published keys, for the profile web-bot-auth",
        responseKey: """
        Require a signature of the response, for the same profile, and verify it with this key: PEM, DER, JWK, \
        certificate or JWK Set; a body is printed only after it's verified
        """,
        responseAlgorithm: "The algorithm of --response-signature, for keys that don't state it",
    ])

    private let arguments: ParsedArguments
    private let source: KeySource?
    private let profile: SignatureProfile
    private let response: (file: InputFile, algorithm: JWSAlgorithm?, profile: SignatureProfile)?

    init?(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        let file = arguments.value(of: Self.key)
        let responseFile = arguments.value(of: Self.responseKey)
        try Self.checkUse(arguments, signs: file != nil, verifies: responseFile != nil)
        let password = try PasswordSource(arguments, Self.password)
        let secret = arguments.value(of: Self.secret)
        source = try file.map { file throws(UsageError) in
            try KeySource(
                arguments,
                file: file,
                secretEncoding: secret,
                password: password,
                algorithmOption: Self.algorithm.spelling
            )
        }
        let name = arguments.value(of: Self.profile) ?? .standard
        let agent = arguments.value(of: Self.agent)?.url
        if (agent != nil) != (name == .webBotAuth), file != nil {
            throw arguments.usageError(
                agent == nil
                    ? "--signature-profile web-bot-auth needs --signature-agent URL, where you publish your keys"
                    : "--signature-agent requires --signature-profile web-bot-auth"
            )
        }
        var profile = name.request(agent: agent.map { SignatureAgent(url: $0) })
        profile.components += arguments.values(of: Self.cover).map { .required($0.component) }
        if let tag = arguments.value(of: Self.tag) { profile.tag = tag }
        if let lifetime = arguments.value(of: Self.lifetime) { profile.lifetime = lifetime.duration }
        self.profile = profile
        if let responseFile {
            guard let profile = name.response else {
                throw arguments.usageError(
                    "--response-signature needs a profile for responses: standard, proxied or fapi2"
                )
            }
            response = (responseFile, arguments.value(of: Self.responseAlgorithm), profile)
        } else {
            response = nil
        }
        if source == nil, response == nil { return nil }
    }

    private static func checkUse(_ arguments: ParsedArguments, signs: Bool, verifies: Bool) throws(UsageError) {
        let shared = [key.definition.longName, profile.definition.longName]
        let forResponses = [responseKey.definition.longName, responseAlgorithm.definition.longName]
        for option in members where arguments.contains(option) && !shared.contains(option.longName) {
            let isForResponses = forResponses.contains(option.longName)
            guard isForResponses ? !verifies : !signs else { continue }
            let needed = isForResponses ? responseKey.definition : key.definition
            throw arguments.usageError("\(option.spelling) requires \(needed.spelling)")
        }
        if arguments.contains(profile.definition), !signs, !verifies {
            throw arguments.usageError("\(profile.spelling) requires \(key.spelling)")
        }
    }

    var verifiesResponses: Bool { response != nil }

    func interceptors(
        for origins: [URL],
        _ console: Console
    ) throws(CommandFailure) -> (first: [any Interceptor], last: [any Interceptor]) {
        let rule = ResourceRule.origins(of: origins)
        var (first, last): ([any Interceptor], [any Interceptor]) = ([], [])
        if let response {
            let file = try KeyFile(
                response.file.name,
                response.file.read(),
                algorithmOption: Self.responseAlgorithm.spelling
            )
            file.warn(on: console)
            let verifier = try CommandFailure.reporting(at: file.name) {
                let keys = try file.signatureKeys(for: response.algorithm)
                return try MessageVerifier(profile: response.profile, keys: keys, replayCache: nil)
            }
            first.append(ResponseVerifier(verifier, origins: rule))
        }
        if let source { last.append(RequestSigner(try signer(source, console), origins: rule)) }
        return (first, last)
    }

    private func signer(_ source: KeySource, _ console: Console) throws(CommandFailure) -> MessageSigner {
        let file = try source.read(warningOn: console)
        file.warn(on: console)
        return try CommandFailure.reporting(at: file.name) {
            let (key, ownID) = try file.signingKey(for: arguments.value(of: Self.algorithm))
            return try MessageSigner(key: key, keyID: try keyID(of: key, ownID, file.name), profile: profile)
        }
    }

    /// Returns the ID of the key, or `nil` if the profile determines it.
    private func keyID(of key: SigningKey, _ ownID: String?, _ name: String) throws(CommandFailure) -> String? {
        let keyID = arguments.value(of: Self.keyID)
        let isAutomatic = keyID == "auto"
        if let keyID, !isAutomatic { return keyID }
        if profile.usesThumbprints, !isAutomatic { return nil }
        if let ownID, !isAutomatic { return ownID }
        guard !key.algorithm.isSymmetric else {
            // The thumbprint of a secret is a hash of it.
            throw CommandFailure(
                .failed,
                "\(name): a secret needs an ID that the verifier knows; pass --signature-keyid ID"
            )
        }
        return key.verificationKey.thumbprint
    }
}

extension KeyFile {
    fileprivate func signatureKeys(for algorithm: JWSAlgorithm?) throws(CommandFailure) -> SignatureKeys {
        if let keySet {
            return SignatureKeys(keySet, selection: KeySelection(assumedAlgorithms: algorithm.map { [$0] } ?? []))
        }
        let key = try verificationKey(for: algorithm)
        return SignatureKeys { _ in key }
    }
}
