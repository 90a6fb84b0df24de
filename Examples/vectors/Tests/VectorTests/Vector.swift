import Foundation
import Testing
import TokenGeneration

/// A file of RFC values in the folder `Vectors` of the repository.
struct Vector: CustomTestStringConvertible {
    let name: String
    let values: JSONObject

    init(_ name: String) throws {
        let folder = URL(filePath: #filePath).appending(path: "../../../../../Vectors").standardized
        self.name = name
        values = try JSONObject(parsing: Data(contentsOf: folder.appending(path: "\(name).json")))
    }

    var testDescription: String { name }

    func text(_ member: String) throws -> String { try #require(values[member]?.string) }

    func key(_ member: String = "key") throws -> SigningKey {
        try SigningKey(
            jwk: JWK(try #require(values[member]?.object)),
            algorithm: #require(JWSAlgorithm(rawValue: text("alg")))
        )
    }
}
