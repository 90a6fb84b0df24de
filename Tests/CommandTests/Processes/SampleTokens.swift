import Foundation
import TestVectors
import TokenGeneration

/// The keys and tokens from the RFCs, as files and arguments for commands.
enum SampleTokens {
    /// A time at which the token of RFC 7515 A.3 is valid: an hour before its `exp`.
    static let goodTime = "1300815780"

    /// Returns a member of a vector file as text.
    static func text(_ member: String, of vector: String) throws -> String {
        let object = try Vector.object(vector)
        guard let text = object[member] as? String else { throw CocoaError(.propertyListReadCorrupt) }
        return text
    }

    /// The token of RFC 7515 A.3.
    static func es256Token() throws -> String {
        try text("compact", of: "rfc7515-a3-es256")
    }

    /// Returns the private JWK of RFC 7515 A.3, with changed members.
    static func es256JWK(_ members: [String: Any] = [:], without removed: String...) throws -> String {
        let key = try Vector.object("rfc7515-a3-es256")["key"] as? [String: Any] ?? [:]
        let changed = key.merging(members) { $1 }.filter { !removed.contains($0.key) }
        return String(decoding: try JSONSerialization.data(withJSONObject: changed), as: UTF8.self)
    }

    /// Returns an unsigned token with any header and claims.
    static func unsigned(header: String = "{\"alg\":\"none\"}", claims: String) -> String {
        [header, claims].map(base64URL).joined(separator: ".") + "."
    }

    static func base64URL(_ text: String) -> String {
        Data(text.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Returns a decoded part of a token as JSON text.
    static func json(_ part: Int, of token: String) throws -> String {
        let parts = token.trimmingCharacters(in: .whitespacesAndNewlines).split(separator: ".")
        guard parts.indices.contains(part) else { throw CocoaError(.propertyListReadCorrupt) }
        var text = parts[part].replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: String(text)) else { throw CocoaError(.propertyListReadCorrupt) }
        return String(decoding: data, as: UTF8.self)
    }

    static func header(of token: String) throws -> String { try json(0, of: token) }
    static func claims(of token: String) throws -> String { try json(1, of: token) }

    /// Returns the claims as `jwt verify` prints them.
    static func prettyClaims(of token: String) throws -> String {
        try JSONObject(parsing: claims(of: token)).prettyPrinted()
    }
}

/// Public test keys, generated with `openssl`.
enum KeyFixtures {
    /// A P-256 key in SEC1 form, preceded by its parameters.
    static let sec1 = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIAi+FwUjNKiMlxOOTCLttZifUjGg/qAvS7ERkmACxJ7qoAoGCCqGSM49
        AwEHoUQDQgAEyhHBn7znLUpsmEx9M3ymsfWy/8xrayQ8vhCajxQee5ORo3eetEHU
        Vj6lM62O2umX64Mol5OIBPS0RBefTTVngw==
        -----END EC PRIVATE KEY-----

        """

    /// The same key in PKCS #8 form.
    static let pkcs8 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCL4XBSM0qIyXE45M
        Iu21mJ9SMaD+oC9LsRGSYALEnuqhRANCAATKEcGfvOctSmyYTH0zfKax9bL/zGtr
        JDy+EJqPFB57k5Gjd560QdRWPqUzrY7a6ZfrgyiXk4gE9LREF59NNWeD
        -----END PRIVATE KEY-----

        """

    /// The public part of the key.
    static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEyhHBn7znLUpsmEx9M3ymsfWy/8xr
        ayQ8vhCajxQee5ORo3eetEHUVj6lM62O2umX64Mol5OIBPS0RBefTTVngw==
        -----END PUBLIC KEY-----

        """

    /// A self-signed certificate with a P-256 key.
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBhTCCASugAwIBAgIUYgzSuyRifaETtM0ihyzkeuPK3qgwCgYIKoZIzj0EAwIw
        FzEVMBMGA1UEAwwMZXhhbXBsZS50ZXN0MCAXDTI2MTEyMTA1MjI0MFoYDzIxMjYx
        MDI4MDUyMjQwWjAXMRUwEwYDVQQDDAxleGFtcGxlLnRlc3QwWTATBgcqhkjOPQIB
        BggqhkjOPQMBBwNCAARLemqdTIpQzalN+6Z/QY8lbN2Mw6OkahRBNuGxV0PAOQue
        1xfLdycBSLbYCg8c0TqhZBX0fexxQK7d84wWpn+Po1MwUTAdBgNVHQ4EFgQUbwhM
        24UNbnDJbK0nYn2JjMcIfJwwHwYDVR0jBBgwFoAUbwhM24UNbnDJbK0nYn2JjMcI
        fJwwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBKWLEpL//8u5nv
        kYBp5+dmTJT+KEsbIntuZ3GRyA7bqAIhAL4kduAx0wM79XVoyeKI0zCw0Mtu4yus
        Fwz7I/RxVEGq
        -----END CERTIFICATE-----

        """

    /// A 2048-bit RSA key in PKCS #8 form.
    static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCyLiG4khT66SmV
        GBVbq61inZ/taCRFPW7hlBwvJMZKSVJADssJan/YX79cbXBH7KoJW/+JAaus7KVe
        abQMRlQvBnavtaN96geH2/Q+/yFAbp4v5EGrKotxmILUrz3jjytrkQiEBmtrq9Ea
        2aHLgqNASEpqPpoGLMfJv6EY0RCc2X2CSOV7PLWassbjjy+WF/f+aDgohnQpKcVi
        S6KLTsaFPViNDD9yaC5cyhMb1eXSOcesbwb+PU4WSsJsuF1cuq0k3PxyA2Dx9S7l
        DLwYgowJ3Xk4g6fxktpkD8OMjQp6jZgaU5phA5wzTOZUMuUK1c7UN9BVqrmq5J1c
        x72D6xOZAgMBAAECggEAULPjUxlbRlAgJOb9GYG3LQDuxFVUhEXweFygrVuvMktm
        ZRwuKywhDqxDXMY2wmT3mPih03i9vLuMpSgkRCEAlTIMxMX08J103rypsnTVJz1T
        CacNdUz2TrPAojtjQTQB+xz8KexMcD6oncwv46Ded0mm5ttG4QAcV40jlr1ulFON
        qKbwnTyFZqRjcDrKBPdTsyndbHHLjL+JU4H5MrEdTwHvwbyfnOXIYPemh3+lulsB
        bKjWSpaT4jUGjYLkUeuGJQJo4p4azlSfbvkq2MvQruWtlA/isMr+ZKsD1GrGGWq1
        u7RtIj8Bn4R3il3Lid4ZGL5XnUEidSl5yjDlH2NCtwKBgQDp2FopvGp+mrV5/27z
        34Y16oK7lLZyBXBNJhgEaTSwin226HnqfC+5iTKGxh1wTBfWu4BxZzy7KmbJZAgC
        JBspt3pXej2vnI4WNqbnmJYX3jFYg86jvWKhJ8a65ZmvPCuW1xlPAxudt9N+jOTh
        BKp6zhYCKtixouxMx0HIVvtm1wKBgQDDD7CnOgOa6mVejGOEnvdHIkFfqn82Ipx4
        QZ+tvMxF3olKpvP0x2VLzp6sAaHEO9lr0au98ZWokOecKaJfmp0s9sDGhCeZ2Igk
        fLMCuw4N5+hxMLZSIbWMtXmbIetpzMWhvG66M2ZqL9r9M1w6uydbZixKF/YSETl1
        gNuZTFe7DwKBgQCNsNhA/beRavCXMVzrS/8oYCZCvsMlp4H6XSCkW5Lffaraz1Y/
        7GuGgkkpPJXN221+YTJchG9aAUEyuffYRERpLJFmu9zwsW2urALJxbz8TVedCJCG
        ylQezdkumbxbX5wR09ez9nAfSqlNvtVYOtmJe6H+QjP2vn9rrjh/yaSfFQKBgFpC
        ymW3bK+kwx+LKwnVXWtnKIUSKidswKbNBwyoDoZOQY1vz/d2xSLdC4NghfB+GU/R
        B/2u6qfD1cjnYyGGNDD4RaAWyxRfpC/uHA+pawl4RJEMD3HV82KXHxxwB7U/cjwz
        K7Gx0zRTzKvZtlXfAIlEsD3g9JbLraD37aX0M6x1AoGAIq4DlnoAZKah+p3UJvuw
        1ik9WyxsSBi1GrO277VQ35969iEsrH9hGFagcQsuBvpuP3AIe7c6a7VDvpPUFv1L
        glEBxm6GyjpGfanLS3Mj/yInOoPj1vb+GHLyoq443oLM2aNbz3VSNbazP3QZmwwJ
        hE8Y8M7mbsZwUB/uq/3+984=
        -----END PRIVATE KEY-----

        """

    /// The P-256 key, encrypted with the password `secret`.
    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjr+iWPpXg74gICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEG2IJIm2TQVrpsnIN3uzQA4EgZDk
        2P2kEKb7co35m9xdTS7HXyf4tXQ8HLnZDXM+lzz1U+KpgfJv5ZF/74UsJHg+QY3z
        95T0e32zMud3i5QQ9asdyNpQHvNfR7Utuc0ezKByel+kt+H8EC8Eu+lF6YiTISjz
        knkMP6B1chnMk+yg8RF0T2kCZFtSOxM9eYcZSOFLVEjbD56Rh//dRpF3aEnyDSI=
        -----END ENCRYPTED PRIVATE KEY-----

        """
}

/// A temporary folder that is removed with its owner.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "jwt-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path(percentEncoded: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Returns the path of a file in the folder.
    func file(_ name: String) -> String {
        path + "/" + name
    }

    /// Writes a file, readable only by its owner unless `mode` says otherwise.
    @discardableResult
    func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        let path = file(name)
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    func text(of name: String) throws -> String {
        try String(contentsOf: URL(filePath: file(name)), encoding: .utf8)
    }

    func mode(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file(name))[.posixPermissions] as? Int
    }

    /// Returns the names of all files in the folder, including hidden files.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}
