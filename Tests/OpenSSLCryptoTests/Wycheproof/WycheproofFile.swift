import Foundation
import TestVectors

/// A Wycheproof file about signatures or message authentication codes.
struct WycheproofFile: Decodable {
    struct Case: Decodable {
        enum Verdict: String, Decodable {
            case valid, invalid, acceptable
        }

        let tcId: Int
        let comment, msg: String
        let result: Verdict
        let sig, key, tag: String?
    }

    struct Group: Decodable {
        let publicKeyDer, sha, mgfSha: String?
        let sLen, tagSize: Int?
        let tests: [Case]

        var hash: HashName? { sha.flatMap(HashName.init) }
    }

    enum HashName: String {
        case sha256 = "SHA-256"
        case sha384 = "SHA-384"
        case sha512 = "SHA-512"
    }

    let numberOfTests: Int
    let testGroups: [Group]

    init(path: String) throws {
        self = try JSONDecoder().decode(Self.self, from: ExternalVector.data(path))
    }

    private enum CodingKeys: String, CodingKey {
        case numberOfTests, testGroups
    }

    /// Returns the paths of the files whose names start with a prefix.
    static func paths(_ prefixes: String...) -> [String] {
        ExternalVector.paths(in: "wycheproof").filter { path in
            prefixes.contains { path.hasPrefix("wycheproof/" + $0) }
        }
    }
}
