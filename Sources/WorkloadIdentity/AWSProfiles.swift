import Foundation
import Networking
import OAuth2
import OpenSSLCrypto

extension AWSCredentialSource {
    /// Returns a source for credentials in variables: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`
    /// and, for temporary ones, `AWS_SESSION_TOKEN`.
    ///
    /// A failure is a ``WorkloadIdentityError``: `notConfigured` if a variable is missing,
    /// `malformedToken`, or `expiredToken` after the time in `AWS_CREDENTIAL_EXPIRATION`.
    ///
    /// - Parameter environment: The variables and clocks.
    /// - Returns: The source.
    public static func environment(_ environment: WorkloadEnvironment = WorkloadEnvironment()) -> Self {
        Self("the environment", environment: environment) { _ in
            let advice = "set it and the other variables, or use another source of credentials"
            let token = environment.variable("AWS_SESSION_TOKEN").flatMap { $0.isEmpty ? nil : $0 }
            var expiry: ContinuousClock.Instant?
            if let text = environment.variable("AWS_CREDENTIAL_EXPIRATION"), !text.isEmpty {
                guard let date = PlatformEndpoint.timestamp(text) else {
                    throw WorkloadIdentityError(.malformedToken, "AWS_CREDENTIAL_EXPIRATION isn't a time of RFC 3339")
                }
                let lifetime = date - environment.timeSource.date().timeIntervalSince1970
                expiry = environment.timeSource.now() + Duration(clampingSeconds: lifetime)
            }
            return AWSCredentials(
                accessKeyID: try environment.value(of: "AWS_ACCESS_KEY_ID", advice: advice),
                secretAccessKey: Secret(try environment.value(of: "AWS_SECRET_ACCESS_KEY", advice: advice)),
                sessionToken: token.map { Secret($0) },
                expiry: expiry
            )
        }
    }

    /// Returns a source for a profile in the files of the AWS CLI
    /// ([AWS](https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html)).
    ///
    /// The files are `~/.aws/credentials` and `~/.aws/config`, or those in
    /// `AWS_SHARED_CREDENTIALS_FILE` and `AWS_CONFIG_FILE`. A profile has keys, or a role with
    /// `source_profile`, `credential_source` or `web_identity_token_file`. The files are read for
    /// each request. Programs are never started, and a sign-in of IAM Identity Center isn't used.
    ///
    /// A failure is a ``WorkloadIdentityError``: `notConfigured` if there's no such profile,
    /// `invalidConfiguration` if it's incomplete or requires what isn't supported, those of a file,
    /// or those of ``role(_:with:sessionName:externalID:duration:region:environment:)``.
    ///
    /// - Parameters:
    ///   - name: The name of the profile. The default is `AWS_PROFILE`, or else `default`.
    ///   - environment: The variables, clocks and network.
    /// - Returns: The source.
    public static func profile(
        _ name: String? = nil,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) -> Self {
        let name = name ?? AWSProfiles.name(environment)
        // They remember their credentials between requests, also through an outage.
        let places: [String: AWSCredentialSource] = [
            "Environment": .environment(environment), "Ec2InstanceMetadata": .instance(environment: environment),
            "EcsContainer": .container(environment: environment),
        ]
        return Self("the profile “\(name)”", environment: environment) { deadline in
            let profiles = try await BlockingWork.value { try AWSProfiles(environment, places: places) }
            return try await profiles.credentials(of: name, until: deadline)
        }
    }

    /// Returns the source for the place where this process runs.
    ///
    /// ```swift
    /// let credentials = AWSCredentialSource.default()
    /// ```
    ///
    /// The source is chosen once, by variables and files, without a request. These are the
    /// conditions, in their order:
    ///
    /// 1. `AWS_ACCESS_KEY_ID` or `AWS_SECRET_ACCESS_KEY` is set: ``environment(_:)``.
    /// 2. `AWS_WEB_IDENTITY_TOKEN_FILE` is set:
    ///    ``webIdentity(token:role:sessionName:duration:region:environment:)``.
    /// 3. `AWS_PROFILE` is set, or the profile `default` has credentials:
    ///    ``profile(_:environment:)``.
    /// 4. The variables of a container are set: ``container(environment:)``.
    /// 5. The machine is one of EC2, or `AWS_EC2_METADATA_SERVICE_ENDPOINT` is set:
    ///    ``instance(environment:)``.
    ///
    /// The choice is final: if the chosen source fails, another identity is never used. If none
    /// applies, the source fails with a ``WorkloadIdentityError`` with the code `notConfigured`.
    ///
    /// - Parameter environment: The variables, clocks and network.
    /// - Returns: The source.
    public static func `default`(environment: WorkloadEnvironment = WorkloadEnvironment()) -> Self {
        let isSet = { (name: String) in !(environment.variable(name) ?? "").isEmpty }
        if isSet("AWS_ACCESS_KEY_ID") || isSet("AWS_SECRET_ACCESS_KEY") { return .environment(environment) }
        if isSet("AWS_WEB_IDENTITY_TOKEN_FILE") { return .webIdentity(environment: environment) }
        let profile = AWSProfiles.name(environment)
        if isSet("AWS_PROFILE") || AWSProfiles.hasCredentials(profile, environment) {
            return .profile(profile, environment: environment)
        }
        if AWSContainerEndpoint.variables.contains(where: isSet) { return .container(environment: environment) }
        let isDisabled = environment.variable("AWS_EC2_METADATA_DISABLED")?.lowercased() == "true"
        let isMachine =
            isSet("AWS_EC2_METADATA_SERVICE_ENDPOINT")
            || WorkloadPlatform.hardware("sys_vendor", is: { $0 == "Amazon EC2" })
            || WorkloadPlatform.hardware("bios_version", is: { $0.hasSuffix(".amazon") })
        if isMachine, !isDisabled { return .instance(environment: environment) }
        return Self("nothing", environment: environment) { _ in
            throw WorkloadIdentityError(
                .notConfigured,
                """
                this process has no AWS credentials: it has no AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE or \
                AWS_PROFILE, no profile “default”, and runs neither in a container nor on a machine of AWS with a role
                """
            )
        }
    }
}

struct AWSProfiles: Sendable {
    typealias Profile = [String: String]

    /// The maximum size of a file in bytes; files of organizations have hundreds of profiles.
    static let maximumFileSize = 1 << 20
    private static let longestChain = 8

    private var profiles: [String: Profile] = [:]
    private let environment: WorkloadEnvironment
    private let places: [String: AWSCredentialSource]

    /// A file that doesn't exist is empty; the places are those that `credential_source` can name.
    init(
        _ environment: WorkloadEnvironment,
        places: [String: AWSCredentialSource] = [:]
    ) throws(WorkloadIdentityError) {
        self.environment = environment
        self.places = places
        // The keys of the file with credentials take precedence.
        for (file, variable, isConfiguration) in [
            ("config", "AWS_CONFIG_FILE", true), ("credentials", "AWS_SHARED_CREDENTIALS_FILE", false),
        ] {
            guard let path = Self.path(file, variable, environment) else { continue }
            let content: [UInt8]
            do {
                content = try PlatformFile.read(
                    path,
                    missing: "\(variable) names it",
                    maximumSize: Self.maximumFileSize
                )
            } catch {
                guard error.code == .notConfigured else { throw error }
                continue
            }
            for (name, profile) in Self.parse(content, isConfiguration: isConfiguration) {
                profiles[name, default: [:]].merge(profile) { _, new in new }
            }
        }
    }

    static func name(_ environment: WorkloadEnvironment) -> String {
        environment.variable("AWS_PROFILE").flatMap { $0.isEmpty ? nil : $0 } ?? "default"
    }

    /// A file that can't be read counts as one with credentials, so that its error is shown.
    static func hasCredentials(_ name: String, _ environment: WorkloadEnvironment) -> Bool {
        do {
            let profile = try AWSProfiles(environment).profiles[name] ?? [:]
            let keys = [
                "aws_access_key_id", "role_arn", "credential_process", "sso_session", "sso_start_url", "login_session",
            ]
            return keys.contains { profile[$0] != nil }
        } catch { return true }
    }

    func credentials(of name: String, until deadline: ContinuousClock.Instant?) async throws -> AWSCredentials {
        try await credentials(of: name, after: [], until: deadline)
    }

    private func credentials(
        of name: String,
        after names: [String],
        until deadline: ContinuousClock.Instant?
    ) async throws -> AWSCredentials {
        guard let profile = profiles[name] else {
            throw WorkloadIdentityError(
                .notConfigured,
                "the files of the AWS CLI have no profile “\(name)”; create it with “aws configure”, or check AWS_PROFILE"
            )
        }
        // A role can name its own profile for the keys in it.
        guard let role = profile["role_arn"], names.last != name else { return try keys(in: profile, name) }
        guard !names.contains(name), names.count < Self.longestChain else {
            throw Self.invalid(name, "is in a loop or a long chain of “source_profile”")
        }
        if profile["mfa_serial"] != nil {
            throw Self.invalid(name, "requires a code (“mfa_serial”), which isn't supported")
        }
        let service = try AWSSecurityTokenService(region: nil, profile: profile["region"], environment)
        let duration = try profile["duration_seconds"].map { text throws(WorkloadIdentityError) in
            guard let seconds = Int(text), (900...43_200).contains(seconds) else {
                throw Self.invalid(name, "has a “duration_seconds” that isn't from 900 through 43200")
            }
            return Duration(clampingSeconds: seconds)
        }
        let parameters = AWSSecurityTokenService.Role(
            role: role,
            sessionName: profile["role_session_name"],
            externalID: profile["external_id"],
            duration: duration
        )
        switch (profile["source_profile"], profile["credential_source"], profile["web_identity_token_file"]) {
        case (let other?, nil, nil):
            let source = try await credentials(of: other, after: names + [name], until: deadline)
            return try await service.credentials(of: parameters, with: fixed(source), until: deadline)
        case (nil, let place?, nil):
            return try await service.credentials(of: parameters, with: source(place, name), until: deadline)
        case (nil, nil, let path?):
            let missing = "“web_identity_token_file” of the profile “\(name)” names it"
            let file = FileTokenSource(path: expanded(path), form: .opaque, missing: missing, environment)
            return try await service.credentials(of: parameters, for: file, until: deadline)
        default:
            throw Self.invalid(
                name,
                "needs one of “source_profile”, “credential_source” and “web_identity_token_file” next to “role_arn”"
            )
        }
    }

    private func fixed(_ credentials: AWSCredentials) -> AWSCredentialSource {
        AWSCredentialSource("a profile", environment: environment) { _ in credentials }
    }

    private func source(_ place: String, _ name: String) throws(WorkloadIdentityError) -> AWSCredentialSource {
        guard let source = places[place] else {
            throw Self.invalid(
                name,
                "has a “credential_source” that isn't “Environment”, “Ec2InstanceMetadata” or “EcsContainer”"
            )
        }
        return source
    }

    private func keys(in profile: Profile, _ name: String) throws(WorkloadIdentityError) -> AWSCredentials {
        guard let accessKeyID = profile["aws_access_key_id"], let secret = profile["aws_secret_access_key"] else {
            for key in ["credential_process", "sso_session", "sso_start_url", "login_session"] where profile[key] != nil
            {
                throw Self.invalid(
                    name,
                    "has “\(key)”, which isn't supported; run “aws configure export-credentials” and set its variables"
                )
            }
            throw Self.invalid(name, "has no “aws_access_key_id” and “aws_secret_access_key”")
        }
        return AWSCredentials(
            accessKeyID: accessKeyID,
            secretAccessKey: Secret(secret),
            sessionToken: profile["aws_session_token"].map { Secret($0) }
        )
    }

    private static func invalid(_ name: String, _ problem: String) -> WorkloadIdentityError {
        WorkloadIdentityError(.invalidConfiguration, "the profile “\(name)” of the AWS CLI \(problem)")
    }

    // MARK: Files

    private static func path(_ file: String, _ variable: String, _ environment: WorkloadEnvironment) -> String? {
        if let path = environment.variable(variable), !path.isEmpty { return expanded(path, environment) }
        return home(environment).map { "\($0)/.aws/\(file)" }
    }

    private func expanded(_ path: String) -> String { Self.expanded(path, environment) }

    private static func expanded(_ path: String, _ environment: WorkloadEnvironment) -> String {
        guard path.hasPrefix("~/"), let home = home(environment) else { return path }
        return home + path.dropFirst()
    }

    private static func home(_ environment: WorkloadEnvironment) -> String? {
        environment.variable("HOME").flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the settings of each profile, without nested settings and other sections.
    static func parse(_ content: [UInt8], isConfiguration: Bool) -> [String: Profile] {
        var profiles: [String: Profile] = [:]
        var section: String?
        var hasExplicitDefault = false
        // The indentation of the section's latest setting.
        var indentation: Int?
        for line in content.split(separator: 0x0A) {
            let text = line.trimmed
            guard let first = text.first, !"#;".utf8.contains(first) else { continue }
            let depth = text.startIndex - line.startIndex
            // A line that is indented more belongs to the setting before it.
            if let indentation, depth > indentation { continue }
            guard first == UInt8(ascii: "[") else {
                indentation = depth
                guard let section, let (key, value) = setting(text), !value.isEmpty else { continue }
                profiles[section]?[key] = value
                continue
            }
            indentation = nil
            let name = text.firstIndex(of: UInt8(ascii: "]")).map { text[..<$0].dropFirst().trimmed }
            section = name.flatMap { profile($0, isConfiguration: isConfiguration) }
            // “profile default” replaces “default”.
            if isConfiguration, section == "default" {
                let isExplicit = name.map { $0.count > "default".utf8.count } ?? false
                if isExplicit, !hasExplicitDefault { profiles["default"] = nil }
                if hasExplicitDefault, !isExplicit { section = nil }
                hasExplicitDefault = hasExplicitDefault || isExplicit
            }
            if let section { profiles[section] = profiles[section] ?? [:] }
        }
        return profiles
    }

    /// A comment begins after white space.
    private static func setting(_ line: ArraySlice<UInt8>) -> (key: String, value: String)? {
        guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        var value = line[(equals + 1)...]
        let comment = value.indices.dropFirst().first { "#;".utf8.contains(value[$0]) && value[$0 - 1].isBlank }
        if let comment { value = value[..<comment] }
        let key = String(decoding: line[..<equals].trimmed, as: UTF8.self).lowercased()
        return (key, String(decoding: value.trimmed, as: UTF8.self))
    }

    /// Returns the profile of a section: `profile NAME` in the configuration, and `NAME` elsewhere.
    private static func profile(_ section: ArraySlice<UInt8>, isConfiguration: Bool) -> String? {
        var name = section
        if isConfiguration, !section.elementsEqual("default".utf8) {
            name = section.dropFirst("profile".utf8.count)
            guard section.starts(with: "profile".utf8), name.first?.isBlank == true else { return nil }
        }
        name = name.trimmed
        if name.count > 1, let quote = name.first, "\"'".utf8.contains(quote), name.last == quote {
            name = name.dropFirst().dropLast()
        }
        return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}

extension ArraySlice<UInt8> {
    fileprivate var trimmed: Self {
        var text = drop(while: \.isBlank)
        while let last = text.last, last.isBlank { text.removeLast() }
        return text
    }
}
