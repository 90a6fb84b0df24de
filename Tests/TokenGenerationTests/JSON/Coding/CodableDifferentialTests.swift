import Foundation
import TestSupport
import Testing
import TokenGeneration

/// Compares the package's coders with Foundation's.
@Suite("Codable against Foundation", .computing)
struct CodableDifferentialTests {
    private static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        return encoder
    }

    private static func decoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return decoder
    }

    @Test("Decodes an array element by element, and names the position after its end")
    func elements() throws {
        struct Elements: Decodable, Equatable {
            var flag: Bool, name: String, double: Double, float: Float, isNull: [Bool], large: Int128, derived: Int
            var path: [Int?], error: String?

            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                (flag, name) = (try list.decode(Bool.self), try list.decode(String.self))
                (double, float) = (try list.decode(Double.self), try list.decode(Float.self))
                isNull = [try list.decodeNil(), try list.decodeNil()]
                large = try list.decode(Int128.self)
                derived = try Int(from: try list.superDecoder())
                (path, error) = ([], nil)
                do { _ = try list.decodeNil() } catch DecodingError.valueNotFound(_, let context) {
                    (path, error) = (context.codingPath.map(\.intValue), context.debugDescription)
                }
            }
        }
        let object = try JSONObject(parsing: #"{"list":[true,"a",1.5,2.5,null,9223372036854775808,7]}"#)
        let list = try #require(try object.decode(as: [String: Elements].self)["list"])
        #expect(list.flag && list.name == "a" && list.double == 1.5 && list.float == 2.5)
        #expect(list.isNull == [true, false] && list.large == 9_223_372_036_854_775_808 && list.derived == 7)
        #expect(list.path == [nil, 7] && list.error == "The array has ended.")
    }

    @Test("Both encode and decode random claims to the same values, including every digit", arguments: 0..<60)
    func randomClaims(seed: Int) throws {
        var numbers = Fixture.SeededNumbers(state: UInt64(seed))
        let claims = SampleClaims(depth: 2, &numbers)
        let theirs = try Self.encoder().encode(claims)
        let ours = try JSONObject(encoding: claims)
        #expect(try ours == JSONObject(parsing: theirs))
        #expect(try ours.decode(as: SampleClaims.self) == claims)
        #expect(try JSONObject(parsing: theirs).decode(as: SampleClaims.self) == claims)
        #expect(try Self.decoder().decode(SampleClaims.self, from: ours.serializedData()) == claims)
    }

    @Test("The text is sorted and the same in each run")
    func sorted() throws {
        var numbers = Fixture.SeededNumbers(state: 7)
        for _ in 0..<20 {
            let claims = SampleClaims(depth: 1, &numbers)
            let token = try JWTGenerator(claims: claims, signingService: ES256SigningService.generate()).token()
            let part = try #require(token.split(separator: ".").dropFirst().first)
            let text = try String(decoding: Base64URL.decode(String(part)), as: UTF8.self)
            #expect(try text == JSONObject(encoding: claims).serialized())
        }
    }

    @Test("Both encode open containers, inheritance and repeated keys to the same JSON")
    func unusual() throws {
        let claims = UnusualClaims()
        let ours = try JSONObject(encoding: claims)
        #expect(try ours == JSONObject(parsing: Self.encoder().encode(claims)))
        #expect(
            ours.serialized()
                == #"{"a\"b":null,"kept":{},"list":[[3],{"y":4},"end"],"nested":{"x":2,"y":1},"super":"b","y":true,"z":1}"#
        )
        #expect(try ours.decode(as: UnusualClaims.self) == claims)
        #expect(try JSONObject(encoding: ForgivingClaims()).serialized() == #"{"first":1,"last":2}"#)
        let derived = try JSONObject(encoding: DerivedClaims())
        #expect(derived.serialized() == #"{"base":1,"own":"o","twice":1}"#)
        #expect(try derived.decode(as: DerivedClaims.self).own == "o")
    }

    @Test(
        "Both decode numbers in any notation into every type with the same result",
        arguments: [
            "0", "-0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "65536", "2147483648", "4294967296",
            "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
            "18446744073709551615", "18446744073709551616", "1.0", "1.5", "1e2", "1E+2", "12e-1", "120e-1", "0.1",
            "1e38", "1e39", "1e300", "1e999", "-1e999", "-0.0",
        ]
    )
    func numbers(literal: String) throws {
        let types: [any (Codable & Equatable).Type] = [
            Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
            UInt64.self, Double.self, Float.self,
        ]
        for type in types { try compare(literal, type) }
    }

    @Test(
        "Both reject a value of another type with the same error and path",
        arguments: ["null", "true", "1", #""text""#, "[]", "{}", #"["a",1]"#, #"{"a":1}"#, #"[null]"#, #"{"v":{}}"#]
    )
    func kinds(json: String) throws {
        let types: [any (Codable & Equatable).Type] = [
            Bool.self, Int.self, Double.self, String.self, String?.self, [String].self, [Int].self, [String: Int].self,
            Date.self, Data.self, URL.self, UUID.self, Decimal.self, SampleClaims.Role.self, Holder<Int>.self,
            [Holder<[Bool]>].self,
        ]
        for type in types { try compare(json, type) }
    }

    @Test("Both reject text that isn't base64, a URL or a UUID", arguments: ["%%%", "Zg", "Zg==", "Z g==", "", "a b"])
    func texts(text: String) throws {
        try compare("\"\(text)\"", Data.self)
        try compare("\"\(text)\"", UUID.self)
        try compare("\"\(text)\"", URL.self)
    }

    private struct Holder<Value: Codable & Equatable>: Codable, Equatable {
        let v: Value
    }

    /// Decodes `{"v": json}` with both coders.
    private func compare<Value: Codable & Equatable>(_ json: String, _ type: Value.Type) throws {
        let text = "{\"v\":\(json)}"
        let object = try JSONObject(parsing: text)
        let theirs = Result { try Self.decoder().decode(Holder<Value>.self, from: Data(text.utf8)) }
        let ours = Result { try object.decode(as: Holder<Value>.self) }
        switch (theirs, ours) {
        case (.success(let theirs), .success(let ours)):
            #expect(ours == theirs, "\(text) as \(type)")
        case (.failure(let theirs as DecodingError), .failure(let ours as TokenError)):
            let cause = try #require(ours.cause as? DecodingError)
            // Foundation's error doesn't have the path of a number that doesn't fit.
            guard !place(of: theirs).hasSuffix("[]") else { return }
            // For Foundation, null has the wrong type for a Boolean, and is absent for all other
            // types.
            if json == "null", type == Bool.self { return }
            #expect(place(of: cause) == place(of: theirs), "\(text) as \(type): \(theirs)")
        default:
            Issue.record("\(text) as \(type): they say \(theirs), we say \(ours)")
        }
    }

    private func place(of error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, let context): "missing \(key.stringValue) in \(path(context))"
        case .typeMismatch(_, let context): "mismatch \(path(context))"
        case .valueNotFound(_, let context): "null \(path(context))"
        case .dataCorrupted(let context): "corrupted \(path(context))"
        @unknown default: "unknown"
        }
    }

    private func path(_ context: DecodingError.Context) -> String {
        "\(context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue })"
    }
}
